package sts

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type webIdentityInput struct {
	RoleArn          string
	RoleSessionName  string
	WebIdentityToken string
	DurationSeconds  *int32
}

type webIdentityOutput struct {
	Credentials                 credentialsView
	SubjectFromWebIdentityToken string
	AssumedRoleUser             assumedRoleView
	Provider                    string
	Audience                    string
}

// assumeRoleWithWebIdentity gives keys of a role to whoever brings a token of an issuer that the account knows and
// the role trusts. The request is signed by nobody.
func (m *Model) assumeRoleWithWebIdentity(_ context.Context, in *webIdentityInput) (*webIdentityOutput, error) {
	if !sessionName.MatchString(in.RoleSessionName) {
		return nil, badSessionName(in.RoleSessionName)
	}
	token, err := parseToken(in.WebIdentityToken)
	if err != nil {
		return nil, wire.Errorf("InvalidIdentityToken", "The ID Token provided is not a valid JWT. (%v)", err)
	}
	m.mu.Lock()
	provider, known := m.providers[token.claims.Issuer]
	m.mu.Unlock()
	if !known {
		return nil, wire.Errorf("InvalidIdentityToken", "No OpenIDConnect provider found in your account for %s",
			token.claims.Issuer)
	}
	switch err := provider.verify(token, m.clock.Now()); {
	case errors.Is(err, errExpired):
		return nil, wire.Errorf("ExpiredTokenException", "%v", err)
	case err != nil:
		return nil, wire.Errorf("InvalidIdentityToken", "%v", err)
	}
	prefix := strings.ToLower(provider.host()) + ":"
	asked := wire.Access{
		Action: "sts:AssumeRoleWithWebIdentity", Resource: in.RoleArn, Context: map[string][]string{
			prefix + "aud": token.claims.Audience[:1], prefix + "sub": {token.claims.Subject},
			"sts:rolesessionname": {in.RoleSessionName},
		},
	}
	m.mu.Lock()
	r, ok := m.roles[in.RoleArn]
	m.mu.Unlock()
	if !ok || m.Federated == nil || m.Federated(m.providerARN(provider), asked) != "" {
		return nil, wire.StatusErrorf(http.StatusForbidden, "AccessDenied",
			"Not authorized to perform sts:AssumeRoleWithWebIdentity")
	}
	d, err := r.duration(in.DurationSeconds, false)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.issue(r, in.RoleSessionName, d)
	id := m.keys[c.AccessKeyID].Identity
	return &webIdentityOutput{
		Credentials: viewOf(c), SubjectFromWebIdentityToken: token.claims.Subject, Provider: m.providerARN(provider),
		AssumedRoleUser: assumedRoleView{AssumedRoleID: id.UserID, Arn: id.ARN}, Audience: token.claims.Audience[0],
	}, nil
}
