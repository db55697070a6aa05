package ekscluster

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/api/autoscalingv1beta1"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

const spareRoom = `
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: %[1]s}
spec:
  replicas: 10
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: a, image: example.com/a, env: [{name: secret, value: v}], resources: {requests: {cpu: 500m}}}]}
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: deployment, namespace: %[1]s}
spec: {scalableRef: {apiGroup: apps, kind: Deployment, name: web}, percentage: 25}
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: template, namespace: %[1]s}
spec: {podTemplateRef: {name: later}, replicas: 2}
`

// bufferAs waits until a watch has last reported of a buffer what is wanted.
func (s *seenBuffers) bufferAs(t *testing.T, key, what string, wanted func(model.Buffer, bool) bool) model.Buffer {
	t.Helper()
	var got model.Buffer
	eventually(t, key+": "+what, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		change, there := s.rows[key]
		if there {
			got = *change.Buffer
		}
		if !wanted(got, there) {
			return fmt.Errorf("got %+v, there %v", got, there)
		}
		return nil
	})
	return got
}

// seenBuffers are the buffers that a watch has reported.
type seenBuffers struct {
	mu   sync.Mutex
	rows map[string]wire.Change
}

func (s *seenBuffers) observe(c wire.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Buffer == nil {
		return
	}
	if delete(s.rows, c.Buffer.Key()); !c.Deleted {
		s.rows[c.Buffer.Key()] = c
	}
}

// With the watcher's own permissions, what buffers are of is found from the first on; edits of either are reported; a list with the
// functions' permissions says the same; and the status is written, read again, and not written twice.
func TestF090BuffersAreFollowedListedAndTold(t *testing.T) {
	c, space := connect(t), unique("room")
	apply(t, spareRoom, space)
	seen := &seenBuffers{rows: map[string]wire.Change{}}
	config, err := plane(t).ServiceAccount(t.Context(), "joiner", "joiner-watcher")
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWatch(config, WatchOptions{Observe: seen.observe})
	if err != nil {
		t.Fatal(err)
	}
	run(t, w)
	seen.mu.Lock() // whoever is synced has received all there was, what it is of included
	if of := seen.rows[space+"/deployment"].Buffer; of == nil || of.Replicas != 3 || of.Of != "Deployment web" {
		t.Errorf("synced with %+v", of)
	}
	seen.mu.Unlock()
	if b := seen.bufferAs(t, space+"/template", "there", func(_ model.Buffer, there bool) bool { return there }); b.Reason != model.PodTemplateNotFound {
		t.Errorf("%+v", b)
	}
	apply(t, "apiVersion: v1\nkind: PodTemplate\nmetadata: {name: later, namespace: %s}\ntemplate: {spec: {containers: [{name: a, image: example.com/a}]}}\n", space)
	seen.bufferAs(t, space+"/template", "its template came", func(b model.Buffer, _ bool) bool { return b.Replicas == 2 && b.Problem == "" })
	apply(t, strings.Replace(spareRoom, "replicas: 10", "replicas: 20", 1), space)
	b := seen.bufferAs(t, space+"/deployment", "its Deployment grew", func(b model.Buffer, _ bool) bool { return b.Replicas == 5 })

	said := model.BufferStatus{Template: "", Sized: true, Replicas: 5, Strategy: b.Strategy,
		Ready:        model.BufferCondition{Status: "True", Reason: "Resolved", Message: "m", Generation: b.Generation},
		Provisioning: model.BufferCondition{Status: "False", Reason: "RequiresNewCapacity", Generation: b.Generation}}
	report := func(uid string, status model.BufferStatus) {
		t.Helper()
		if err := c.Report(t.Context(), model.Report{Buffers: []model.BufferReport{{Namespace: space, Name: "deployment", UID: uid, Status: status}}}); err != nil {
			t.Fatal(err)
		}
	}
	read := func() *autoscalingv1beta1.CapacityBuffer {
		t.Helper()
		untyped, err := c.custom.Resource(autoscalingv1beta1.CapacityBufferResource).Namespace(space).Get(t.Context(), "deployment", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		buffer, err := translate.BufferObject(untyped)
		if err != nil {
			t.Fatal(err)
		}
		return buffer
	}
	report("another", said)
	if read().Status.Replicas != nil {
		t.Error("the status of another buffer of that name was written")
	}
	report(b.UID, said)
	first := read()
	seen.bufferAs(t, space+"/deployment", "its status", func(b model.Buffer, _ bool) bool { return b.Status == said })
	time.Sleep(1100 * time.Millisecond) // conditions have times in seconds
	report(b.UID, said)
	if again := read(); again.ResourceVersion != first.ResourceVersion {
		t.Error("an unchanged status was written")
	}
	old := said
	old.Ready.Generation, old.Replicas = b.Generation+7, 1
	report(b.UID, old)
	if again := read(); again.ResourceVersion != first.ResourceVersion {
		t.Error("the status of another generation was written")
	}

	listed, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, row := range listed.Buffers {
		if row.Namespace != space {
			continue
		}
		found++
		followed := seen.bufferAs(t, row.Key(), "there", func(_ model.Buffer, there bool) bool { return there })
		if shape := listed.Shapes[row.Shape]; !reflect.DeepEqual(&shape, seen.rows[row.Key()].Shape) {
			t.Errorf("%s: listed %+v, followed %+v", row.Key(), shape, seen.rows[row.Key()].Shape)
		}
		if followed.Shape = row.Shape; followed != row {
			t.Errorf("listed %+v\nfollowed %+v", row, followed)
		}
	}
	if found != 2 {
		t.Errorf("%d buffers listed", found)
	}
	if err := c.custom.Resource(autoscalingv1beta1.CapacityBufferResource).Namespace(space).Delete(t.Context(), "deployment", metav1.DeleteOptions{}); err == nil {
		t.Error("the functions may delete buffers")
	}
}
