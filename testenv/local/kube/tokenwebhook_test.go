package kube_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/joiner-sh/joiner/testenv/local/kube"
)

const goodToken = "k8s-aws-v1.good"

// startTokenWebhook serves token reviews that know one token, and returns the
// kubeconfig that leads there.
func startTokenWebhook() (server *httptest.Server, kubeconfig []byte, err error) {
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.APIVersion != "authentication.k8s.io/v1" {
			http.Error(w, fmt.Sprintf("want a TokenReview of v1, got %q: %v", review.APIVersion, err), http.StatusBadRequest)
			return
		}
		if review.Spec.Token == goodToken {
			review.Status = authenticationv1.TokenReviewStatus{
				Authenticated: true,
				User:          authenticationv1.UserInfo{Username: "arn:aws:sts::1:role", Groups: []string{"from-webhook"}},
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	kubeconfig, err = kube.Kubeconfig(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}})
	return server, kubeconfig, err
}

func TestTokenWebhookSaysWhoATokenIs(t *testing.T) {
	whoAmI := func(token string) (*authenticationv1.SelfSubjectReview, error) {
		config := &rest.Config{
			Host: plane.Endpoint(), BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: plane.CertificateAuthority()},
		}
		return clientFor(t, config).AuthenticationV1().SelfSubjectReviews().
			Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	}
	review, err := whoAmI(goodToken)
	if err != nil {
		t.Fatal(err)
	}
	if user := review.Status.UserInfo; user.Username != "arn:aws:sts::1:role" || user.Groups[0] != "from-webhook" {
		t.Errorf("the token is %+v", user)
	}
	if _, err := whoAmI("k8s-aws-v1.bad"); !apierrors.IsUnauthorized(err) {
		t.Errorf("a token the webhook does not know: got %v, want Unauthorized", err)
	}
}
