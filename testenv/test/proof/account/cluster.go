package account

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"

	authentication "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/testenv/local/cloud/eks"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
)

// AddCluster adds an EKS cluster, with what stands for its API server: it takes tokens as EKS does and answers a SelfSubjectReview,
// until ctx is done.
func (a *Account) AddCluster(ctx context.Context, name string) {
	review := sts.TokenReviewHandler(sts.TokenReview{
		Model: a.Cloud.STS, Cluster: name, Entries: a.EKS, Endpoints: []string{"http://localhost"}, Region: a.Cloud.Region(),
	})
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reviewSelf(review, w, r) }))
	context.AfterFunc(ctx, server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	a.EKS.AddCluster(eks.Cluster{Name: name, Version: "1.34", Endpoint: server.URL, CertificateAuthority: authority})
}

// reviewSelf answers who the bearer of a token is; 401 where the token is nobody's.
func reviewSelf(review http.Handler, w http.ResponseWriter, r *http.Request) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	asked := authentication.TokenReview{TypeMeta: metav1.TypeMeta{Kind: "TokenReview", APIVersion: "authentication.k8s.io/v1"}, Spec: authentication.TokenReviewSpec{Token: token}}
	text, err := json.Marshal(asked)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer := httptest.NewRecorder()
	review.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(text)))
	var out authentication.TokenReview
	if err := json.Unmarshal(answer.Body.Bytes(), &out); err != nil || !ok || !out.Status.Authenticated {
		http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}`, http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	self := authentication.SelfSubjectReview{
		TypeMeta: metav1.TypeMeta{Kind: "SelfSubjectReview", APIVersion: "authentication.k8s.io/v1"}, Status: authentication.SelfSubjectReviewStatus{UserInfo: out.Status.User},
	}
	json.NewEncoder(w).Encode(self) // a client that has gone is not the model's concern
}
