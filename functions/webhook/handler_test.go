package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/admission"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/review"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	first  = "0123456789abcdef0123456789abcdef"
	second = "fedcba9876543210fedcba9876543210"
)

// store is SSM with one parameter.
type store struct {
	value string
	err   error
	reads int
}

func (s *store) GetParameter(_ context.Context, input *ssm.GetParameterInput, _ ...func(*ssm.Options)) (*ssm.GetParameterOutput, error) {
	s.reads++
	if s.err != nil || !aws.ToBool(input.WithDecryption) {
		return nil, errors.Join(s.err, errors.New("not decrypted"))
	}
	return &ssm.GetParameterOutput{Parameter: &types.Parameter{Value: &s.value}}, nil
}

// catalogs are instance catalogs by account and region.
type catalogs map[string]model.InstanceCatalog

func (c catalogs) RegionCatalog(_ context.Context, reg model.Registration) (model.InstanceCatalog, error) {
	catalog, has := c[reg.Account+"/"+reg.Region]
	if !has {
		return catalog, fault.New(fault.NotFound, "", "none")
	}
	return catalog, nil
}

func catalogOf(name string) model.InstanceCatalog {
	return model.InstanceCatalog{Types: []model.InstanceTypeInfo{{Name: name, Arch: "amd64", VCPUs: 2, MemoryMiB: 8192, Interfaces: 3, IPv4PerInterface: 10, Offerings: []model.Offering{
		{Zone: "a", CapacityType: model.OnDemand, Price: 96_000, Available: true}}}}}
}

type place struct {
	*handler
	store *store
	now   time.Time
	log   bytes.Buffer
}

func newPlace() *place {
	p := &place{store: &store{value: first}, now: time.Unix(1_780_000_000, 0)}
	now := func() time.Time { return p.now }
	p.handler = &handler{
		flow:    &review.Flow{Catalogs: catalogs{"111122223333/eu-west-1": catalogOf("m5.large"), "444455556666/us-east-1": catalogOf("c5.large")}, Now: now},
		secrets: newSecrets(p.store, "/joiner/webhook", now), logger: slog.New(slog.NewTextHandler(&p.log, nil)),
		own: model.Registration{Account: "111122223333", Region: "eu-west-1"},
	}
	return p
}

const pool = `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u-1", "kind": {"group": "karpenter.sh", "version": "v1", "kind": "NodePool"}, "operation": "CREATE",
 "object": {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "web", "annotations": {"note": "hunter2"}}, "spec": {"template": {"spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
  "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["ARCH"]}, {"key": "kubernetes.io/arch", "operator": "NotIn", "values": ["arm64"]}]}}}}}}`

func (p *place) post(t *testing.T, path, body string) events.APIGatewayV2HTTPResponse {
	t.Helper()
	request := events.APIGatewayV2HTTPRequest{RawPath: path, Body: body}
	request.RequestContext.HTTP.Method = http.MethodPost
	return p.send(t, request)
}

func (p *place) send(t *testing.T, request events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPResponse {
	t.Helper()
	answer, err := p.handle(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func read(t *testing.T, answer events.APIGatewayV2HTTPResponse) *admissionv1.AdmissionResponse {
	t.Helper()
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal([]byte(answer.Body), &review); err != nil || answer.StatusCode != http.StatusOK || review.Response == nil {
		t.Fatalf("%+v %v", answer, err)
	}
	return review.Response
}

func TestAReviewIsAnsweredByTheCatalogOfItsAccountAndRegion(t *testing.T) {
	p, body := newPlace(), strings.Replace(pool, "ARCH", "amd64", 1)
	for path, want := range map[string]string{"/" + first: "m5.large", "/" + first + "/444455556666/us-east-1": "c5.large", "/" + first + "/444455556666/eu-west-3": ""} {
		answer := read(t, p.post(t, path, body))
		said := strings.Join(answer.Warnings, "\n")
		if !answer.Allowed || strings.Contains(said, "instance types") != (want != "") || !strings.Contains(said, want) {
			t.Errorf("%s: %s", path, said)
		}
	}
	encoded := events.APIGatewayV2HTTPRequest{RawPath: "/" + first, Body: base64.StdEncoding.EncodeToString([]byte(body)), IsBase64Encoded: true}
	encoded.RequestContext.HTTP.Method = http.MethodPost
	if !read(t, p.send(t, encoded)).Allowed {
		t.Error("refused in base64")
	}
	refused := read(t, p.post(t, "/"+first, strings.Replace(pool, "ARCH", "arm64", 1)))
	if refused.Allowed || !strings.Contains(refused.Result.Message, "requirements[1]") || !strings.Contains(refused.Result.Message, "Remedy: ") {
		t.Errorf("%+v", refused.Result)
	}
	if log := p.log.String(); strings.Contains(log, "hunter2") || strings.Contains(log, first) {
		t.Errorf("the log has more than the verdict: %s", log)
	}
}

func TestWithoutTheSecretThereIsNothing(t *testing.T) {
	p := newPlace()
	for _, path := range []string{"", "/", "/admit", "/" + first[1:], "/" + first + "x", "//" + first, "/" + second, "/x/" + first, "/" + first + "/", "/" + first + "/1/eu-west-1",
		"/" + first + "/111122223333/../..", "/" + first + "/111122223333/eu-west-1/x"} {
		if answer := p.post(t, path, pool); answer.StatusCode != http.StatusNotFound || answer.Body != "Not Found" {
			t.Errorf("%s: %+v", path, answer)
		}
	}
	if p.store.reads != 1 {
		t.Errorf("the secret was read %d times", p.store.reads)
	}
}

func TestOtherRequestsAreRefused(t *testing.T) {
	p := newPlace()
	for name, c := range map[string]struct {
		method, body string
		encoded      bool
		status       int
	}{
		"another method": {http.MethodGet, pool, false, http.StatusMethodNotAllowed}, "no review": {http.MethodPost, "{}", false, http.StatusBadRequest},
		"no base64": {http.MethodPost, "%", true, http.StatusBadRequest}, "too large": {http.MethodPost, strings.Repeat(" ", admission.MaxBytes+1), false, http.StatusRequestEntityTooLarge},
		"far too large": {http.MethodPost, strings.Repeat(" ", 2*admission.MaxBytes), true, http.StatusRequestEntityTooLarge},
	} {
		request := events.APIGatewayV2HTTPRequest{RawPath: "/" + first, Body: c.body, IsBase64Encoded: c.encoded}
		request.RequestContext.HTTP.Method = c.method
		if answer := p.send(t, request); answer.StatusCode != c.status || answer.Body != http.StatusText(c.status) {
			t.Errorf("%s: %+v", name, answer)
		}
	}
}

func TestSecretsChangeByHavingTwoForAWhile(t *testing.T) {
	p := newPlace()
	good := func(secret string) bool {
		has, err := p.secrets.Has(t.Context(), secret)
		if err != nil {
			t.Fatal(err)
		}
		return has
	}
	if !good(first) || good(second) {
		t.Fatal("at first")
	}
	p.store.value = first + "," + second
	if good(second) {
		t.Error("it was read again at once")
	}
	p.now = p.now.Add(readAgain)
	if !good(first) || !good(second) {
		t.Error("both are to be good")
	}
	p.store.value, p.now = second, p.now.Add(readAgain)
	if good(first) || !good(second) {
		t.Error("the first is to be none any more")
	}
	p.store.err, p.now = errors.New("throttled"), p.now.Add(readAgain)
	if !good(second) {
		t.Error("what was read before stays good while it cannot be read")
	}
}

func TestSecretsThatAreNoneAreTold(t *testing.T) {
	for value, want := range map[string]string{
		"": "0 secrets", "short": "shorter than 32", first + "," + second + "," + first + "x": "3 secrets", first + "/" + second: "slash", first + " , x": "secret 2",
	} {
		p := newPlace()
		p.store.value = value
		if answer := p.post(t, "/"+value, pool); answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(p.log.String(), want) {
			t.Errorf("%q: %d %s", value, answer.StatusCode, p.log.String())
		}
		p.store.value = first
		if answer := p.post(t, "/"+first, strings.Replace(pool, "ARCH", "amd64", 1)); answer.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("it was asked for again at once: %d", answer.StatusCode)
		}
		p.now = p.now.Add(retryAfter)
		if answer := p.post(t, "/"+first, strings.Replace(pool, "ARCH", "amd64", 1)); answer.StatusCode != http.StatusOK {
			t.Errorf("%d", answer.StatusCode)
		}
	}
}

// TestW14TheParameterNeedNotHoldTheSecret: where it holds the digest, the secret is good, and what whoever reads the parameter has is not.
func TestW14TheParameterNeedNotHoldTheSecret(t *testing.T) {
	p := newPlace()
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(first)))
	p.store.value = digest
	review := strings.Replace(pool, "ARCH", "amd64", 1)
	if answer := p.post(t, "/"+first, review); answer.StatusCode != http.StatusOK {
		t.Errorf("the secret: %d, %s", answer.StatusCode, p.log.String())
	}
	for _, path := range []string{"/" + digest, "/" + strings.TrimPrefix(digest, "sha256:")} {
		if answer := p.post(t, path, review); answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, answer.StatusCode)
		}
	}
	p.store.value, p.now = digest+","+second, p.now.Add(readAgain)
	if answer := p.post(t, "/"+second, review); answer.StatusCode != http.StatusOK {
		t.Errorf("a digest and a secret: %d, %s", answer.StatusCode, p.log.String())
	}
	for _, value := range []string{"sha256:", "sha256:0123", "sha256:" + strings.Repeat("g", 64)} {
		bad := newPlace()
		bad.store.value = value
		if answer := bad.post(t, "/"+first, review); answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(bad.log.String(), "digest 1") {
			t.Errorf("%q: %d %s", value, answer.StatusCode, bad.log.String())
		}
	}
}
