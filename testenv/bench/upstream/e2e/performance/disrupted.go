package performance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// disrupters delete pods for their node's sake, beside those who run the cluster: what clears away after nodes that are gone or silent.
var disrupters = []string{
	"system:serviceaccount:kube-system:pod-garbage-collector", "system:serviceaccount:kube-system:node-controller",
	"system:serviceaccount:kube-system:taint-eviction-controller",
}

// request is what an audit log says of one. Source: audit.k8s.io/v1, Event.
type request struct {
	Stage            string    `json:"stage"`
	Verb             string    `json:"verb"`
	Received         time.Time `json:"requestReceivedTimestamp"`
	User             user      `json:"user"`
	ImpersonatedUser *user     `json:"impersonatedUser"`
	Object           struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Status struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

type user struct {
	Username string   `json:"username"`
	Groups   []string `json:"groups"`
}

// Disruption is a pod that was evicted, or deleted for its node's sake.
type Disruption struct {
	Pod string // namespace/name
	At  time.Time
}

// Disruptions returns what an audit log says of pods, in the order of time, each pod once. Where the pods' own controller or the suite deletes
// them they are not disrupted, nor is what a kubelet deletes at their end.
func Disruptions(path string) ([]Disruption, error) {
	log, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	first := map[string]time.Time{}
	for line := range bytes.Lines(log) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("read a line of the audit log: %w", err)
		}
		if !r.disrupts() {
			continue
		}
		pod := r.Object.Namespace + "/" + r.Object.Name
		if at, ok := first[pod]; !ok || r.Received.Before(at) {
			first[pod] = r.Received
		}
	}
	out := make([]Disruption, 0, len(first))
	for pod, at := range first {
		out = append(out, Disruption{pod, at})
	}
	slices.SortFunc(out, func(a, b Disruption) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return strings.Compare(a.Pod, b.Pod)
	})
	return out, nil
}

func (r *request) disrupts() bool {
	if r.Stage != "ResponseComplete" || r.Status.Code < 200 || r.Status.Code > 299 || r.Object.Resource != "pods" {
		return false
	}
	if r.Object.Subresource == "eviction" {
		return r.Verb == "create"
	}
	if r.Verb != "delete" || r.Object.Subresource != "" {
		return false
	}
	by := r.User
	if r.ImpersonatedUser != nil { // whose rights it was evaluated with
		by = *r.ImpersonatedUser
	}
	return by.Username == "karpenter" || slices.Contains(disrupters, by.Username) ||
		slices.ContainsFunc(by.Groups, func(group string) bool { return strings.HasPrefix(group, "joiner:") })
}

// within counts those from one moment on and before another.
func within(all []Disruption, from, to time.Time) (n int) {
	for _, d := range all {
		if !d.At.Before(from) && d.At.Before(to) {
			n++
		}
	}
	return n
}
