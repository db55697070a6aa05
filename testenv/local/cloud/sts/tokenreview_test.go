package sts_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	authentication "k8s.io/api/authentication/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
)

type entry struct {
	username string
	groups   []string
}

// entries are keyed by cluster and principal ARN.
type entries map[[2]string]entry

func (e entries) Lookup(cluster, arn string) (string, []string, bool) {
	x, ok := e[[2]string{cluster, arn}]
	return x.username, x.groups, ok
}

// token presigns as clients of EKS do: GetCallerIdentity at an STS host, the
// cluster's name among the signed headers.
func token(t *testing.T, creds sts.Credentials, cluster, endpoint string) string {
	t.Helper()
	o := awssts.Options{Region: "us-west-2", Credentials: credentials.NewStaticCredentialsProvider(creds.AccessKeyID, creds.SecretAccessKey, creds.SessionToken)}
	if endpoint != "" {
		o.BaseEndpoint = &endpoint
	}
	out, err := awssts.NewPresignClient(awssts.New(o)).PresignGetCallerIdentity(context.Background(), &awssts.GetCallerIdentityInput{}, func(p *awssts.PresignOptions) {
		p.ClientOptions = append(p.ClientOptions, func(o *awssts.Options) {
			if cluster != "" {
				o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("x-k8s-aws-id", cluster))
			}
			o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("X-Amz-Expires", "60"))
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return "k8s-aws-v1." + base64.RawURLEncoding.EncodeToString([]byte(out.URL))
}

type fixture struct {
	clock  *clock.Fake
	model  *sts.Model
	role   string
	creds  sts.Credentials
	review sts.TokenReview
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	fake := clock.NewFake(time.Now())
	m := sts.NewModel(sts.Options{Clock: fake, Account: account})
	role := m.AddRole(sts.Role{Name: "provision", Path: "/joiner/"})
	creds, err := m.Assume(role, "fn@1", 2*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{fake, m, role, creds, sts.TokenReview{
		Model: m, Cluster: "prod", Region: "us-west-2", Endpoints: []string{"http://127.0.0.1:4566"},
		Entries: entries{
			{"prod", role}: {"", []string{"karpenter:functions"}},
		},
	}}
}

func TestTokenStandsForItsAccessEntry(t *testing.T) {
	f := newFixture(t)
	for _, endpoint := range []string{"", "http://127.0.0.1:4566"} {
		user, err := f.review.Authenticate(token(t, f.creds, "prod", endpoint))
		if err != nil {
			t.Fatalf("endpoint %q: %v", endpoint, err)
		}
		if want := "arn:aws:sts::" + account + ":assumed-role/provision/fn@1"; user.Username != want {
			t.Errorf("username %s, want %s", user.Username, want)
		}
		if !slices.Equal(user.Groups, []string{"karpenter:functions"}) {
			t.Errorf("groups %v, want karpenter:functions", user.Groups)
		}
		if got := user.Extra["canonicalArn"]; len(got) != 1 || got[0] != f.role {
			t.Errorf("canonical arn %v, want %s", got, f.role)
		}
	}
}

func TestUsernameTemplateIsFilled(t *testing.T) {
	f := newFixture(t)
	f.review.Entries = entries{{"prod", f.role}: {"fn:{{AccountID}}:{{SessionName}}:{{SessionNameRaw}}", nil}}
	user, err := f.review.Authenticate(token(t, f.creds, "prod", ""))
	if err != nil {
		t.Fatal(err)
	}
	if want := "fn:" + account + ":fn-1:fn@1"; user.Username != want {
		t.Errorf("username %s, want %s", user.Username, want)
	}
}

func TestTokenIsRefused(t *testing.T) {
	f := newFixture(t)
	good := token(t, f.creds, "prod", "")
	wrongSecret, wrongToken := f.creds, f.creds
	wrongSecret.SecretAccessKey, wrongToken.SessionToken = "guess", "guess"
	stranger, err := f.model.Assume(f.model.AddRole(sts.Role{Name: "stranger"}), "s1", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	edited := func(from, to string) string {
		raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(good, "k8s-aws-v1."))
		if err != nil {
			t.Fatal(err)
		}
		url := strings.Replace(string(raw), from, to, 1)
		if url == string(raw) {
			t.Fatalf("%q is not in %s", from, raw)
		}
		return "k8s-aws-v1." + base64.RawURLEncoding.EncodeToString([]byte(url))
	}
	for name, tt := range map[string]struct{ token, want string }{
		"no prefix":            {strings.TrimPrefix(good, "k8s-aws-v1."), "prefix"},
		"another encoding":     {good + "=", "decode"},
		"too long":             {good + strings.Repeat("A", 4096), "more than 4096"},
		"another cluster":      {token(t, f.creds, "dev", ""), "signature"},
		"no cluster":           {token(t, f.creds, "", ""), "x-k8s-aws-id"},
		"another host":         {edited("sts.us-west-2.amazonaws.com", "sts.example.com"), "not an STS endpoint"},
		"another region":       {token(t, f.creds, "prod", "https://sts.eu-west-1.amazonaws.com"), "not an STS endpoint"},
		"plain http to STS":    {edited("https://", "http://"), "not an STS endpoint"},
		"another action":       {edited("GetCallerIdentity", "AssumeRole"), "action"},
		"a second action":      {edited("Action=", "Action=GetCallerIdentity&Action="), "2 times"},
		"an extra parameter":   {edited("Action=", "RoleArn=x&Action="), "RoleArn"},
		"a path":               {edited("amazonaws.com/", "amazonaws.com/x"), "path"},
		"a wrong secret":       {token(t, wrongSecret, "prod", ""), "signature"},
		"a wrong token":        {token(t, wrongToken, "prod", ""), "security token"},
		"no access entry":      {token(t, stranger, "prod", ""), "no access entry"},
		"an empty token":       {"", "prefix"},
		"a prolonged validity": {edited("X-Amz-Expires=60", "X-Amz-Expires=900"), "signature"},
	} {
		t.Run(name, func(t *testing.T) {
			user, err := f.review.Authenticate(tt.token)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v; want a refusal with %q", user, err, tt.want)
			}
		})
	}
}

func TestTokenLivesAQuarterOfAnHourWhateverItSays(t *testing.T) {
	f := newFixture(t)
	good := token(t, f.creds, "prod", "")
	f.clock.Advance(14 * time.Minute)
	if _, err := f.review.Authenticate(good); err != nil {
		t.Errorf("after 14 minutes: %v", err)
	}
	f.clock.Advance(2 * time.Minute)
	if _, err := f.review.Authenticate(good); err == nil {
		t.Error("accepted after 16 minutes")
	}
}

func TestWebhookAnswersTokenReviewsOverTLS(t *testing.T) {
	f := newFixture(t)
	webhook, err := sts.ServeWebhook(t.Context(), sts.TokenReviewHandler(f.review))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { webhook.Close() })
	kubeconfig, err := webhook.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(config.CAData) {
		t.Fatal("kubeconfig has no authority")
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	post := func(tok string) authentication.TokenReview {
		t.Helper()
		review := authentication.TokenReview{Spec: authentication.TokenReviewSpec{Token: tok}}
		review.APIVersion, review.Kind = "authentication.k8s.io/v1", "TokenReview"
		doc, err := json.Marshal(review)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Post(config.Host, "application/json", bytes.NewReader(doc))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		var answer authentication.TokenReview
		if err := json.Unmarshal(body, &answer); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		return answer
	}
	good := post(token(t, f.creds, "prod", ""))
	if !good.Status.Authenticated || good.APIVersion != "authentication.k8s.io/v1" || good.Kind != "TokenReview" {
		t.Errorf("answer %+v, want an authenticated user", good)
	}
	if bad := post("nonsense"); bad.Status.Authenticated || bad.Status.Error == "" {
		t.Errorf("answer to nonsense %+v, want a refusal with its reason", bad)
	}
}
