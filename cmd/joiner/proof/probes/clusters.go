package probes

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
)

var entryRights = []string{"eks:DescribeCluster", "eks:CreateAccessEntry", "eks:DescribeAccessEntry", "eks:TagResource", "iam:CreateRole", "iam:TagRole", "sts:AssumeRole"}

func clusters() []proof.Probe {
	of := func(id, assumption, about string, rights []string, want proof.Seen, run func(context.Context, *proof.Env) (proof.Seen, error)) proof.Probe {
		return proof.Probe{
			ID: id, Service: "eks", Assumption: assumption, About: about, Kind: proof.KindSmall, Lasts: 3 * time.Second, Rights: rights, Needs: proof.Needs{Cluster: true},
			Readings: one(assumption, want), Run: run,
		}
	}
	missing := of("eks-missing-cluster", "a cluster that is not there is ResourceNotFoundException", "DescribeCluster of nothing", []string{"eks:DescribeCluster"}, proof.Seen{"describe": "404 ResourceNotFoundException"}, missingCluster)
	missing.Kind, missing.Needs = proof.KindDryRuns, proof.Needs{}
	identities := of("eks-pod-identities-by-namespace", "ListPodIdentityAssociations filters by namespace and service account", "ListPodIdentityAssociations of a namespace that is not there",
		[]string{"eks:ListPodIdentityAssociations"}, proof.Seen{"of no namespace": "0"}, podIdentities)
	identities.Kind = proof.KindDryRuns
	lag := of("eks-access-entry-lag", "how soon an access entry lets its principal in", "CreateAccessEntry for a role of the run's, SelfSubjectReview with its token until that is let through", entryRights, nil, entryLag)
	lag.Readings = []proof.Reading{
		{Name: "at once", Says: "an access entry lets its principal in at once", Want: proof.Seen{"within 3 s": "yes"}},
		{Name: "later", Says: "it does so some seconds later; until then the token is nobody's", Want: proof.Seen{"within 3 s": "no"}},
	}
	return []proof.Probe{
		missing, identities,
		of("eks-access-entry-groups", "groups of access entries do not begin with system:", "CreateAccessEntry with the group system:masters", entryRights, proof.Seen{"create": "InvalidParameterException"}, systemGroup),
		of("eks-access-entry-once", "a principal has one access entry", "CreateAccessEntry twice", entryRights, proof.Seen{"second": "409 ResourceInUseException"}, entryTwice),
		of("eks-access-entry-username", "an access entry without a username has that of the role's sessions", "CreateAccessEntry without a username", entryRights,
			proof.Seen{"ends with": "{{SessionName}}", "type": "STANDARD"}, entryUsername),
		lag,
		of("eks-token-age", "a token lives 15 minutes from its date, whatever X-Amz-Expires says", "SelfSubjectReview with tokens of 60 s that were signed now, 14 and 16 minutes ago", entryRights,
			proof.Seen{"now": "201", "14 minutes ago": "201", "16 minutes ago": "401"}, tokenAge),
		of("eks-token-names-cluster", "a token is good for the cluster that its signed header x-k8s-aws-id names", "SelfSubjectReview with tokens for another cluster and for none", entryRights,
			proof.Seen{"another cluster": "401", "none": "401"}, tokenCluster),
	}
}

func missingCluster(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	_, err := e.EKS.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String(e.Name("nothing"))})
	return proof.Seen{"describe": status(err)}, proof.Answered(err)
}

func podIdentities(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	out, err := e.EKS.ListPodIdentityAssociations(ctx, &eks.ListPodIdentityAssociationsInput{ClusterName: &e.Cluster, Namespace: aws.String("joiner-proof-nothing")})
	if err != nil {
		return nil, err
	}
	return proof.Seen{"of no namespace": count(len(out.Associations))}, nil
}

func entry(ctx context.Context, e *proof.Env, principal string, groups ...string) (*eks.CreateAccessEntryOutput, error) {
	return e.EKS.CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{ClusterName: &e.Cluster, PrincipalArn: &principal, KubernetesGroups: groups, Tags: e.Tags()})
}

// entered makes a role with an access entry.
func entered(ctx context.Context, e *proof.Env, what string) (string, *eks.CreateAccessEntryOutput, error) {
	arn, err := proof.MakeRole(ctx, e, what)
	if err != nil {
		return "", nil, err
	}
	out, err := entryOf(ctx, e, arn)
	return arn, out, err
}

// entryOf makes an access entry for a role that EKS may not know yet.
func entryOf(ctx context.Context, e *proof.Env, arn string) (*eks.CreateAccessEntryOutput, error) {
	var out *eks.CreateAccessEntryOutput
	_, _, err := e.Until(ctx, time.Minute, 2*time.Second, func() (bool, error) {
		var err error
		out, err = entry(ctx, e, arn)
		if proof.Code(err) == "InvalidParameterException" {
			return false, nil
		}
		return true, err
	})
	if err == nil && out == nil {
		err = errorf("EKS did not take role %s for an access entry within a minute", arn)
	}
	return out, err
}

// admitted makes a role with an access entry, and returns the services as a session of it reaches them, and how long the API server took to
// let it in.
func admitted(ctx context.Context, e *proof.Env, what string) (proof.Clients, time.Duration, error) {
	arn, err := proof.MakeRole(ctx, e, what)
	if err != nil {
		return proof.Clients{}, 0, err
	}
	// Until IAM has told everybody of the role; what comes after is EKS's.
	c, err := proof.Unlimited(ctx, e, arn)
	if err != nil {
		return c, 0, err
	}
	if _, err := entryOf(ctx, e, arn); err != nil {
		return c, 0, err
	}
	took, ok, err := e.Until(ctx, time.Minute, time.Second, func() (bool, error) {
		code, err := review(ctx, e, c, e.Cluster, 0)
		return code == http.StatusCreated, err
	})
	if err == nil && !ok {
		err = errorf("the API server of %s did not let %s in within a minute", e.Cluster, arn)
	}
	return c, took, err
}

// guest is a session of a role with an access entry, for all that try tokens.
func guest(ctx context.Context, e *proof.Env) (proof.Clients, error) {
	return proof.Shared(ctx, e, "guest", func(ctx context.Context) (proof.Clients, error) {
		c, _, err := admitted(ctx, e, "guest")
		return c, err
	})
}

func systemGroup(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	arn, err := proof.MakeRole(ctx, e, "masters")
	if err != nil {
		return nil, err
	}
	_, err = entry(ctx, e, arn, "system:masters")
	return proof.Seen{"create": proof.Code(err)}, proof.Answered(err)
}

func entryTwice(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	arn, _, err := entered(ctx, e, "twice")
	if err != nil {
		return nil, err
	}
	_, err = entry(ctx, e, arn)
	return proof.Seen{"second": status(err)}, proof.Answered(err)
}

func entryUsername(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	_, out, err := entered(ctx, e, "username")
	if err != nil {
		return nil, err
	}
	name := aws.ToString(out.AccessEntry.Username)
	return proof.Seen{"ends with": name[strings.LastIndexByte(name, '/')+1:], "type": aws.ToString(out.AccessEntry.Type)}, nil
}

func entryLag(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	_, took, err := admitted(ctx, e, "entry-lagging")
	return proof.Seen{"within 3 s": yes(took < 3*time.Second), "seconds": count(int(took.Seconds()))}, err
}

func tokenAge(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	c, err := guest(ctx, e)
	if err != nil {
		return nil, err
	}
	ages := map[string]time.Duration{"now": 0, "14 minutes ago": 14 * time.Minute, "16 minutes ago": 16 * time.Minute}
	seen := proof.Seen{}
	for _, fact := range sorted(ages) {
		code, err := review(ctx, e, c, e.Cluster, ages[fact])
		if err != nil {
			return nil, err
		}
		seen[fact] = count(code)
	}
	return seen, nil
}

func tokenCluster(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	c, err := guest(ctx, e)
	if err != nil {
		return nil, err
	}
	seen := proof.Seen{}
	for _, fact := range []string{"another cluster", "none"} {
		code, err := review(ctx, e, c, map[string]string{"another cluster": "another"}[fact], 0)
		if err != nil {
			return nil, err
		}
		seen[fact] = count(code)
	}
	return seen, nil
}

// review asks the cluster's API server who the holder of keys is, with a token that was signed some time ago for a cluster of a name; ""
// signs for none. It returns the status of the answer.
func review(ctx context.Context, e *proof.Env, c proof.Clients, cluster string, ago time.Duration) (int, error) {
	described, err := e.EKS.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &e.Cluster})
	if err != nil {
		return 0, err
	}
	token, err := signToken(ctx, e, c, cluster, e.Now().Add(-ago))
	if err != nil {
		return 0, err
	}
	authority, err := base64.StdEncoding.DecodeString(aws.ToString(described.Cluster.CertificateAuthority.Data))
	if err != nil {
		authority = nil // of a record: nobody is called
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, Proxy: http.ProxyFromEnvironment}}
	defer client.CloseIdleConnections()
	body := `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`
	r, err := http.NewRequestWithContext(proof.WithOperation(ctx, "kubernetes", "SelfSubjectReview"), http.MethodPost,
		aws.ToString(described.Cluster.Endpoint)+"/apis/authentication.k8s.io/v1/selfsubjectreviews", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := e.Through(client).Do(r)
	if err != nil {
		return 0, err
	}
	response.Body.Close()
	return response.StatusCode, nil
}

// signToken makes the bearer token EKS understands.
func signToken(ctx context.Context, e *proof.Env, c proof.Clients, cluster string, at time.Time) (string, error) {
	keys, err := c.Config.Credentials.Retrieve(ctx)
	if err != nil {
		return "", err
	}
	query := url.Values{"Action": {"GetCallerIdentity"}, "Version": {"2011-06-15"}, "X-Amz-Expires": {"60"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint(e, "sts")+"?"+query.Encode(), nil)
	if err != nil {
		return "", err
	}
	if cluster != "" {
		r.Header.Set("x-k8s-aws-id", cluster)
	}
	signed, _, err := v4.NewSigner().PresignHTTP(ctx, keys, r, digest(nil), "sts", e.Region, at)
	if err != nil {
		return "", err
	}
	return "k8s-aws-v1." + base64.RawURLEncoding.EncodeToString([]byte(signed)), nil
}
