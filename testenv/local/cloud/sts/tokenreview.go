package sts

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	authentication "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire/sigv4"
)

const (
	tokenPrefix    = "k8s-aws-v1."
	maxTokenBytes  = 4096
	clusterHeader  = "x-k8s-aws-id"
	maxReviewBytes = 1 << 20
)

// AccessEntries are the principals a cluster lets in. The EKS model has them.
type AccessEntries interface {
	// Lookup returns the username template and the groups of the access entry
	// of a user or role in a cluster; ok is false when it has none. In the
	// template "{{SessionName}}", "{{SessionNameRaw}}", "{{AccountID}}" and
	// "{{EC2PrivateDNSName}}" (session name) are replaced; an empty template
	// gives the ARN of the user or session.
	Lookup(clusterName, principalARN string) (username string, groups []string, ok bool)
}

// TokenReview decides who a bearer token of one cluster is, as EKS does.
type TokenReview struct {
	Model   *Model
	Cluster string // the name tokens must be signed for
	Entries AccessEntries
	// Endpoints are base URLs beside the real STS hosts of Region for which
	// tokens may be presigned: the front door's, for clients that were given
	// it as their endpoint. May be nil.
	Endpoints []string
	Region    string
}

// TokenReviewHandler serves the authentication webhook of an API server: it
// answers every TokenReview posted to it, whatever the path.
func TokenReviewHandler(t TokenReview) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authentication.TokenReview
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxReviewBytes)).Decode(&review); err != nil {
			http.Error(w, fmt.Sprintf("decode token review: %v", err), http.StatusBadRequest)
			return
		}
		answer := authentication.TokenReview{TypeMeta: metav1.TypeMeta{Kind: "TokenReview", APIVersion: review.APIVersion}}
		user, err := t.Authenticate(review.Spec.Token)
		if err != nil {
			answer.Status.Error = err.Error()
		} else {
			answer.Status.Authenticated = true
			answer.Status.User = user
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(answer)
	})
}

// Authenticate returns the Kubernetes user a token stands for. The error says
// why the token is refused.
func (t TokenReview) Authenticate(token string) (authentication.UserInfo, error) {
	request, err := t.request(token)
	if err != nil {
		return authentication.UserInfo{}, err
	}
	verifier := sigv4.Verifier{Keys: t.Model, Now: t.Model.clock.Now}
	id, err := verifier.Verify(request, nil)
	if err != nil {
		return authentication.UserInfo{}, fmt.Errorf("sts getCallerIdentity: %w", err)
	}
	principal, session := t.Model.Principal(id.AccessKeyID)
	template, groups, ok := t.Entries.Lookup(t.Cluster, principal)
	if !ok {
		return authentication.UserInfo{}, fmt.Errorf("%s has no access entry in cluster %s", principal, t.Cluster)
	}
	return userInfo(id, principal, session, template, groups), nil
}

// request rebuilds the request a token presigns, having checked that it is for
// GetCallerIdentity, at STS, and signed for this cluster.
func (t TokenReview) request(token string) (*http.Request, error) {
	if len(token) > maxTokenBytes {
		return nil, fmt.Errorf("token is %d bytes, more than %d", len(token), maxTokenBytes)
	}
	encoded, ok := strings.CutPrefix(token, tokenPrefix)
	if !ok {
		return nil, fmt.Errorf("token lacks the prefix %s", tokenPrefix)
	}
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("decode token: %w", err)
	}
	u, err := url.Parse(string(raw))
	if err != nil {
		return nil, fmt.Errorf("parse presigned URL: %w", err)
	}
	if err := t.checkURL(u); err != nil {
		return nil, err
	}
	r := &http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: http.Header{}}
	r.Header.Set(clusterHeader, t.Cluster)
	if !slices.Contains(sigv4.SignedHeaders(r), clusterHeader) {
		return nil, fmt.Errorf("header %s is not signed", clusterHeader)
	}
	return r, nil
}

// presignedParameters are all the parameters a token's URL may have.
var presignedParameters = []string{
	"action", "version", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-expires",
	"x-amz-security-token", "x-amz-signature", "x-amz-signedheaders", "x-amz-user-agent",
}

func (t TokenReview) checkURL(u *url.URL) error {
	if !slices.Contains(t.Endpoints, u.Scheme+"://"+u.Host) && !(u.Scheme == "https" && t.isSTSHost(u.Host)) {
		return fmt.Errorf("%s://%s is not an STS endpoint", u.Scheme, u.Host)
	}
	if u.Path != "/" && u.Path != "" {
		return fmt.Errorf("path %q in presigned URL", u.Path)
	}
	for name, values := range u.Query() {
		if len(values) != 1 {
			return fmt.Errorf("parameter %s given %d times", name, len(values))
		}
		if !slices.Contains(presignedParameters, strings.ToLower(name)) {
			return fmt.Errorf("parameter %s in presigned URL", name)
		}
	}
	if action := u.Query().Get("Action"); action != "GetCallerIdentity" {
		return fmt.Errorf("action %q in presigned URL", action)
	}
	scope, ok := sigv4.ScopeOf(&http.Request{URL: u})
	if !ok || scope.Service != "sts" {
		return errors.New("URL is not presigned for sts")
	}
	return nil
}

func (t TokenReview) isSTSHost(host string) bool {
	return host == "sts.amazonaws.com" || slices.Contains([]string{
		"sts." + t.Region + ".amazonaws.com",
		"sts-fips." + t.Region + ".amazonaws.com",
		"sts." + t.Region + ".api.aws",
	}, host)
}

func userInfo(id wire.Identity, principal, session, template string, groups []string) authentication.UserInfo {
	username := strings.NewReplacer(
		"{{SessionName}}", strings.ReplaceAll(session, "@", "-"),
		"{{SessionNameRaw}}", session,
		"{{EC2PrivateDNSName}}", session,
		"{{AccountID}}", id.Account,
	).Replace(template)
	if username == "" {
		username = id.ARN
	}
	userID, _, _ := strings.Cut(id.UserID, ":")
	return authentication.UserInfo{
		Username: username,
		UID:      fmt.Sprintf("aws-iam-authenticator:%s:%s", id.Account, userID),
		Groups:   groups,
		Extra: map[string]authentication.ExtraValue{
			"accessKeyId":  {id.AccessKeyID},
			"arn":          {id.ARN},
			"canonicalArn": {principal},
			"principalId":  {userID},
			"sessionName":  {session},
			"sigs.k8s.io/aws-iam-authenticator/principalId": {userID},
		},
	}
}
