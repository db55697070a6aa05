package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/infra/chart"
	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
)

// authority signs certificates of 127.0.0.1 and localhost.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "joiner"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{t, key, cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// write puts a new pair into the folder.
func (a *authority) write(folder string, serial int64) {
	a.t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: der}, "tls.key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
}

func TestTheCertificateIsReadAgainWhenItChanges(t *testing.T) {
	folder, ca := t.TempDir(), newAuthority(t)
	var log bytes.Buffer
	keys := &certificate{folder: folder, logger: slog.New(slog.NewTextHandler(&log, nil))}
	if _, err := keys.get(nil); err == nil || !strings.Contains(err.Error(), "JOINER_WEBHOOK_CERT_DIR "+folder) {
		t.Errorf("without files: %v", err)
	}
	serial := func() int64 {
		t.Helper()
		pair, err := keys.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		cert, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return cert.SerialNumber.Int64()
	}
	ca.write(folder, 7)
	if got := serial(); got != 7 {
		t.Errorf("%d", got)
	}
	ca.write(folder, 1_000_000) // another length, too: clocks of file systems are coarse
	if got := serial(); got != 1_000_000 {
		t.Errorf("after a change: %d", got)
	}
	if err := os.WriteFile(filepath.Join(folder, "tls.key"), []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := serial(); got != 1_000_000 || !strings.Contains(log.String(), "cannot be read") {
		t.Errorf("while the new pair is torn: %d %s", got, log.String())
	}
}

// warnings collects what an API server warns a client of, as kubectl prints it.
type warnings struct {
	mu   sync.Mutex
	said []string
}

// HandleWarningHeader takes one warning.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code == 299 {
		w.said = append(w.said, text)
	}
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := w.said
	w.said = nil
	return said
}

const poolManifest = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %s}
spec:
  limits: {cpu: 100}
  disruption: {consolidateAfter: 5m, budgets: [{nodes: 10%%}]}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: %s
`

const classManifest = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: node
  amiSelectorTerms: [{alias: al2023@v20260101}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
`

// caller creates objects as people do, and hears the warnings.
type caller struct {
	t      *testing.T
	client dynamic.Interface
	heard  *warnings
}

func (p *place) caller(t *testing.T) *caller {
	heard, config := &warnings{}, p.plane.Config()
	config.WarningHandler = heard
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &caller{t, client, heard}
}

func (c *caller) create(manifest string) ([]string, error) {
	c.t.Helper()
	object := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		c.t.Fatal(err)
	}
	if err := object.UnmarshalJSON(data); err != nil {
		c.t.Fatal(err)
	}
	resource := map[string]schema.GroupVersionResource{apiv1.KindNodePool: apiv1.NodePoolResource, apiv1.KindNodeClaim: apiv1.NodeClaimResource, awsv1.KindEC2NodeClass: awsv1.EC2NodeClassResource}[object.GetKind()]
	_, err = c.client.Resource(resource).Create(c.t.Context(), object, metav1.CreateOptions{})
	return c.heard.take(), err
}

// catalogued puts a catalog of three types where the watcher looks for it.
func (p *place) catalogued(t *testing.T) {
	t.Helper()
	instance := func(name, arch string, vcpus int64, price model.MicroUSD) model.InstanceTypeInfo {
		m := model.InstanceTypeInfo{Name: name, Arch: arch, VCPUs: vcpus, MemoryMiB: vcpus * 4096, Hypervisor: "nitro", Interfaces: 3, IPv4PerInterface: 10}
		for _, zone := range []string{"a", "b"} {
			m.Offerings = append(m.Offerings, model.Offering{Zone: p.cloud.Region() + zone, CapacityType: model.OnDemand, Price: price, Available: true})
		}
		return m
	}
	catalog := model.InstanceCatalog{Types: []model.InstanceTypeInfo{instance("c6g.large", "arm64", 2, 68_000), instance("m5.large", "amd64", 2, 96_000), instance("m5.xlarge", "amd64", 4, 192_000)}, ReadUnix: 1, Version: "1"}
	store := s3catalog.New(s3.NewFromConfig(p.cloud.Config(), func(o *s3.Options) { o.UsePathStyle = true }), bucketName, s3catalog.Settings{})
	if err := store.Write(t.Context(), model.Registration{Account: p.cloud.Account(), Region: p.cloud.Region()}, catalog, ""); err != nil {
		t.Fatal(err)
	}
}

// trusting returns a client that trusts one authority.
func trusting(ca []byte) *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}, Timeout: 10 * time.Second}
}

// until returns once check gives no error; the test fails when that takes longer than anything here may.
func until(t *testing.T, what string, check func() error) {
	t.Helper()
	var err error
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(100 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// said returns what a replica's log has of a field in the line of a message.
func (r *replica) said(message, field string) string {
	for _, text := range r.lines() {
		var line map[string]any
		if json.Unmarshal([]byte(text), &line) == nil && line["msg"] == message {
			value, _ := line[field].(string)
			return value
		}
	}
	return ""
}

// webhooked applies the chart's own registration of the watcher's endpoint. Nobody forwards what is sent to Services here, so it goes by an
// address; and this machine has more to do than the two seconds of the chart.
func (p *place) webhooked(t *testing.T, address string, ca []byte) {
	t.Helper()
	client, err := kubernetes.NewForConfig(p.plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	of := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := yaml.UnmarshalStrict(bytes.TrimPrefix(chart.Webhook(), []byte("---\n")), of); err != nil {
		t.Fatal(err)
	}
	if len(of.Webhooks) != 1 || of.Webhooks[0].ClientConfig.Service == nil || of.Webhooks[0].ClientConfig.Service.Path == nil {
		t.Fatalf("the chart's registration: %+v", of)
	}
	hook, seconds := &of.Webhooks[0], int32(10)
	url := "https://" + address + *hook.ClientConfig.Service.Path
	hook.ClientConfig, hook.TimeoutSeconds = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca}, &seconds
	if _, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), of, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// The whole way: kubectl's client, the API server, the watcher's binary with the permissions it has in a cluster, the catalog in S3.
func TestAdmissionByTheWatcher(t *testing.T) {
	p := newPlace(t)
	p.catalogued(t)
	people, folder, ca := p.caller(t), t.TempDir(), newAuthority(t)
	ca.write(folder, 1)
	r := p.start("w-1", "JOINER_WEBHOOK_CERT_DIR="+folder, "JOINER_WEBHOOK_ADDRESS=127.0.0.1:0", "JOINER_ACCOUNT="+p.cloud.Account())
	until(t, "the watcher serves and has seen the cluster", func() error {
		if r.said("serving admission", "address") == "" || r.address() == "" {
			return errors.New("no address yet")
		}
		answer, err := http.Get("http://" + r.address() + "/readyz")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return errors.New(answer.Status)
		}
		return nil
	})
	p.webhooked(t, r.said("serving admission", "address"), ca.pem)
	named := 0
	pool := func(requirements string) string {
		named++
		return fmt.Sprintf(poolManifest, fmt.Sprintf("pool-%d", named), requirements)
	}
	until(t, "the API server asks", func() error { // it takes a moment until a configuration is known
		said, err := people.create(pool("[]"))
		if err == nil && len(said) == 0 {
			err = errors.New("no warning")
		}
		return err
	})

	says := func(manifest string, wanted ...string) {
		t.Helper()
		said, err := people.create(manifest)
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		for _, want := range wanted {
			if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, want) }) {
				t.Errorf("nothing says %q of: %s", want, strings.Join(said, "\n"))
			}
		}
	}
	says(pool("[{key: kubernetes.io/arch, operator: In, values: [amd64]}]"), `spec.template.spec.nodeClassRef.name: "default": there is no EC2NodeClass of this name`,
		"spec.template.spec.requirements: 2 of the 3 instance types that "+p.cloud.Region()+" has for this class match, from $0.0960 per hour (m5.large, on-demand, "+p.cloud.Region()+"a)")
	if said, err := people.create(classManifest); err != nil || len(said) != 0 {
		t.Errorf("of a plain class is said %q, %v", said, err)
	}
	until(t, "the watcher sees the class", func() error {
		said, err := people.create(pool("[{key: node.kubernetes.io/instance-type, operator: In, values: [m5.lrge]}]"))
		if err != nil || strings.Contains(strings.Join(said, "\n"), "there is no EC2NodeClass") {
			return fmt.Errorf("%q, %v", said, err)
		}
		return nil
	})
	says(pool("[{key: node.kubernetes.io/instance-type, operator: In, values: [m5.lrge]}]"),
		"spec.template.spec.requirements[0]: nothing matches, no node can be launched: no instance type has node.kubernetes.io/instance-type In [m5.lrge]", "Correct it: m5.large may be meant")

	contradictory := "[{key: topology.kubernetes.io/zone, operator: In, values: [a]}, {key: topology.kubernetes.io/zone, operator: In, values: [b]}]"
	_, err := people.create(pool(contradictory))
	var status *apierrors.StatusError
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		t.Fatalf("what no node can meet: %v", err)
	}
	for _, part := range []string{"spec.template.spec.requirements[1]", `"topology.kubernetes.io/zone In [b]"`, "spec.template.spec.requirements[0]", "Remedy: "} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("nothing says %q: %v", part, err)
		}
	}
	if causes := status.ErrStatus.Details.Causes; len(causes) != 1 || causes[0].Field != "spec.template.spec.requirements[1]" {
		t.Errorf("%+v", causes)
	}

	r.command.Process.Kill()
	<-r.done
	if said, err := people.create(pool(contradictory)); err != nil || len(said) != 0 {
		t.Errorf("nobody is there to refuse it, and it is %v, %q", err, said)
	}
	nonsense(t, people)
}

// nonsense is refused by the definitions alone, with field and value or rule.
func nonsense(t *testing.T, people *caller) {
	pool := func(spec string) string {
		return "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: nonsense}\nspec: " + spec
	}
	const ref = "nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}"
	requirement := func(r string) string { return pool("{template: {spec: {" + ref + ", requirements: [" + r + "]}}}") }
	with := func(rest string) string {
		return pool("{template: {spec: {" + ref + ", requirements: []}}, " + rest + "}")
	}
	class := func(change string) string { return strings.Replace(classManifest, "  role: node\n", change, 1) }
	const at = "spec.template.spec"
	for name, c := range map[string]struct{ manifest, field, says string }{
		"no requirements":        {pool("{template: {spec: {" + ref + "}}}"), at + ".requirements", "Required"},
		"no class":               {pool("{template: {spec: {requirements: []}}}"), at + ".nodeClassRef", "Required"},
		"an operator of no kind": {requirement("{key: a, operator: Is, values: [b]}"), at + ".requirements[0].operator", `"Is"`},
		"In of nothing":          {requirement("{key: a, operator: In, values: []}"), at + ".requirements[0]", "at least one value"},
		"a bound of letters":     {requirement("{key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: [many]}"), at + ".requirements[0]", "whole number"},
		"a bound of two":         {requirement("{key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ['1', '2']}"), at + ".requirements[0]", "exactly one value"},
		"a bound below nothing":  {requirement("{key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ['-1']}"), at + ".requirements[0]", "whole number"},
		"minValues of more":      {requirement("{key: a, operator: In, values: [b], minValues: 2}"), at + ".requirements[0]", "minValues"},
		"minValues of too many":  {requirement("{key: a, operator: Exists, minValues: 51}"), at + ".requirements[0].minValues", "51"},
		"a key of Karpenter's":   {requirement("{key: karpenter.sh/team, operator: Exists}"), at + ".requirements[0].key", "restricted"},
		"a host's name":          {requirement("{key: kubernetes.io/hostname, operator: In, values: [a]}"), at + ".requirements[0].key", "restricted"},
		"a pool of a pool":       {requirement("{key: karpenter.sh/nodepool, operator: In, values: [a]}"), at + ".requirements", "restricted"},
		"a key that is none":     {requirement("{key: 'a b', operator: Exists}"), at + ".requirements[0].key", "a b"},
		"a weight of nothing":    {with("weight: 0"), "spec.weight", "0"},
		"a weight of too much":   {with("weight: 101"), "spec.weight", "101"},
		"a policy of no kind":    {with("disruption: {consolidationPolicy: Always}"), "spec.disruption.consolidationPolicy", `"Always"`},
		"a wait of days":         {with("disruption: {consolidateAfter: 1d}"), "spec.disruption.consolidateAfter", "1d"},
		"more than all nodes":    {with("disruption: {budgets: [{nodes: 101%}]}"), "spec.disruption.budgets[0].nodes", "101%"},
		"a schedule for nothing": {with("disruption: {budgets: [{nodes: '1', schedule: '0 9 * * *'}]}"), "spec.disruption.budgets[0]", "duration"},
		"a schedule of words":    {with("disruption: {budgets: [{nodes: '1', schedule: 'at nine', duration: 1h}]}"), "spec.disruption.budgets[0].schedule", "at nine"},
		"limits of letters":      {with("limits: {cpu: many}"), "spec.limits", "many"},
		"replicas and a weight":  {with("replicas: 1, weight: 2"), "spec", "weight"},
		"two identities":         {class("  role: node\n  instanceProfile: profile\n"), "spec", "instanceProfile"},
		"no identity":            {class(""), "spec", "role"},
		"an id of no subnet":     {strings.Replace(classManifest, "subnetSelectorTerms: [{tags: {a: b}}]", "subnetSelectorTerms: [{id: vpc-1}]", 1), "spec.subnetSelectorTerms[0].id", "vpc-1"},
		"an alias of no family":  {strings.Replace(classManifest, "al2023@v20260101", "ubuntu@latest", 1), "spec.amiSelectorTerms[0].alias", "ubuntu"},
		"an alias and an id":     {strings.Replace(classManifest, "[{alias: al2023@v20260101}]", "[{alias: al2023@v20260101}, {id: ami-12345678}]", 1), "spec.amiSelectorTerms", "alias"},
		"a tag of the cluster's": {class("  role: node\n  tags: {kubernetes.io/cluster/prod: owned}\n"), "spec.tags", "kubernetes.io/cluster"},
	} {
		_, err := people.create(strings.Replace(c.manifest, "metadata: {name: default}", "metadata: {name: nonsense}", 1))
		if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), c.field) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: want %s and %q: %v", name, c.field, c.says, err)
		}
	}
}

// Anything that is no review gets an answer that says nothing of the cluster.
func TestAdmissionAnswersNothingElse(t *testing.T) {
	folder, ca := t.TempDir(), newAuthority(t)
	ca.write(folder, 1)
	var log bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	logger := slog.New(slog.NewTextHandler(&log, nil))
	go func() {
		defer close(done)
		serveAdmission(ctx, address, &certificate{folder: folder, logger: logger}, func(context.Context, model.Admission) model.Verdict { return model.Verdict{} }, logger)
	}()
	client := trusting(ca.pem)
	until(t, "it serves", func() error {
		answer, err := client.Get("https://" + address + "/admit")
		if err != nil {
			return err
		}
		answer.Body.Close()
		return nil
	})
	for path, status := range map[string]int{"/": http.StatusNotFound, "/metrics": http.StatusNotFound, "/debug/pprof/": http.StatusNotFound, "/admit": http.StatusBadRequest} {
		answer, err := client.Post("https://"+address+path, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != status || len(body) > 40 {
			t.Errorf("%s: %s %s", path, answer.Status, body)
		}
	}
	stop()
	<-done
}
