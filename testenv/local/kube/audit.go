package kube

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// AuditEnds is a policy for Options.AuditPolicy under which ControlPlane.Audit
// knows who ended what: every write to pods, evictions, nodes and NodeClaims
// with what was asked for, whoever asks, and every request of Joiner's groups.
var AuditEnds = []byte(`apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: Request
  verbs: [create, update, patch, delete, deletecollection]
  resources:
  - {group: "", resources: [pods/eviction, nodes]}
  - {group: karpenter.sh, resources: [nodeclaims]}
- level: Request
  verbs: [delete, deletecollection]
  resources: [{group: "", resources: [pods]}]
- level: Metadata
  userGroups: ["joiner:functions", "joiner:interruption", "joiner:catalog", "joiner:disrupt", "system:serviceaccounts:joiner"]
- level: None
`)

// Entry is one request to the API server that was answered.
type Entry struct {
	Received, Answered time.Time // by the API server's clock
	User               string
	Groups             []string
	Verb               string // get, list, watch, create, update, patch, delete, deletecollection
	APIGroup           string // "" is the core group
	Resource           string // with its subresource, such as pods/eviction
	Namespace, Name    string
	Code               int32  // of HTTP; 0 where the answer has none
	Message            string // of a refusal
	Request            []byte // its body as JSON; nil under a policy that leaves it out
}

// Audit is what the audit log says, in the order of answers.
type Audit []Entry

// Audit reads what was written to the audit log since a time. An entry is
// written about when its request is answered: the last may be some
// milliseconds late. An error where Options had no AuditPolicy.
func (c *ControlPlane) Audit(since time.Time) (Audit, error) {
	log, err := os.ReadFile(c.AuditLogPath())
	if err != nil {
		return nil, fmt.Errorf("read the audit log; was there an AuditPolicy: %w", err)
	}
	var out Audit
	for line := range bytes.Lines(log) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written
		}
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("read a line of the audit log: %w", err)
		}
		if event.Stage == "ResponseComplete" && !event.RequestReceivedTimestamp.Time.Before(since) {
			out = append(out, entryOf(&event))
		}
	}
	return out, nil
}

func entryOf(event *auditv1.Event) Entry {
	user := event.User
	if event.ImpersonatedUser != nil { // whose rights it was evaluated by
		user = *event.ImpersonatedUser
	}
	out := Entry{
		Received: event.RequestReceivedTimestamp.Time, Answered: event.StageTimestamp.Time,
		User: user.Username, Groups: user.Groups, Verb: event.Verb,
	}
	if object := event.ObjectRef; object != nil {
		out.APIGroup, out.Resource, out.Namespace, out.Name = object.APIGroup, object.Resource, object.Namespace, object.Name
		if object.Subresource != "" {
			out.Resource += "/" + object.Subresource
		}
	}
	if status := event.ResponseStatus; status != nil {
		out.Code, out.Message = status.Code, status.Message
	}
	if event.RequestObject != nil {
		out.Request = event.RequestObject.Raw
	}
	return out
}

// By returns the requests of the members of a group.
func (a Audit) By(group string) Audit {
	return a.where(func(e *Entry) bool { return slices.Contains(e.Groups, group) })
}

// Evictions returns the requests to the Eviction API, whatever their answer.
func (a Audit) Evictions() Audit {
	return a.where(func(e *Entry) bool { return e.Resource == "pods/eviction" && e.Verb == "create" })
}

// PodDeletions returns the direct deletions of pods that were carried out,
// which no PodDisruptionBudget names.
func (a Audit) PodDeletions() Audit {
	return a.where(func(e *Entry) bool { return e.Resource == "pods" && strings.HasPrefix(e.Verb, "delete") && e.Done() })
}

func (a Audit) where(keep func(*Entry) bool) Audit {
	var out Audit
	for i := range a {
		if keep(&a[i]) {
			out = append(out, a[i])
		}
	}
	return out
}

// Rights returns what the requests took that were not forbidden, as
// "verb group/resource", sorted, each once; the core group is empty.
func (a Audit) Rights() []string {
	var out []string
	for i := range a {
		if e := &a[i]; e.Code != 403 && e.Code != 401 && e.Resource != "" {
			out = append(out, e.Verb+" "+e.APIGroup+"/"+e.Resource)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Done reports whether the request was carried out.
func (e *Entry) Done() bool { return e.Code >= 200 && e.Code < 300 }

// deletion is the part of a request that says how to delete: a body of a
// deletion, or of an eviction.
func (e *Entry) deletion() metav1.DeleteOptions {
	var body struct {
		metav1.DeleteOptions
		Inner *metav1.DeleteOptions `json:"deleteOptions"`
	}
	if json.Unmarshal(e.Request, &body) != nil {
		return metav1.DeleteOptions{}
	}
	if body.Inner != nil {
		return *body.Inner
	}
	return body.DeleteOptions
}

// GraceSeconds returns the grace that a deletion or eviction asked for; nil
// where that is the pod's own.
func (e *Entry) GraceSeconds() *int64 { return e.deletion().GracePeriodSeconds }

// UID returns which object alone a deletion or eviction is about; empty where
// it is about whichever has the name.
func (e *Entry) UID() types.UID {
	if p := e.deletion().Preconditions; p != nil && p.UID != nil {
		return *p.UID
	}
	return ""
}

// String is one line.
func (e *Entry) String() string {
	return fmt.Sprintf("%s %s %s/%s %s/%s by %s: %d %s", e.Answered.Format("15:04:05.000"), e.Verb, e.APIGroup, e.Resource, e.Namespace, e.Name, e.User, e.Code, e.Message)
}
