package performance

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// recordedTimeline is a timeline that gets what happens, and the seconds at which it does.
type recordedTimeline struct {
	*Timeline
	clock time.Time
}

func newRecordedTimeline() *recordedTimeline {
	t := &recordedTimeline{clock: second(0)}
	t.Timeline = newTimeline(func() time.Time { return t.clock })
	return t
}

func second(n int) time.Time {
	return time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
}

func (t *recordedTimeline) at(n int) *recordedTimeline { t.clock = second(n); return t }

func (t *recordedTimeline) nodeIs(name, instanceType string, gone bool) {
	t.node(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelInstanceTypeStable: instanceType}}}, gone)
}

func (t *recordedTimeline) podIs(name string, phase corev1.PodPhase, gone bool) {
	t.pod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{discovered: "unspecified"}}, Status: corev1.PodStatus{Phase: phase}}, gone)
}

func TestTimelineKnowsWhenPodsRan(t *testing.T) {
	w := newRecordedTimeline()
	w.at(1).podIs("a", corev1.PodPending, false)
	w.at(2).podIs("a", corev1.PodRunning, false)
	w.at(3).podIs("b", corev1.PodRunning, false)
	w.at(4).podIs("a", corev1.PodRunning, true)
	w.at(5).podIs("c", corev1.PodRunning, false)
	w.pod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "another's"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}, false)
	for _, c := range []struct {
		n, from, to, want int // want -1: never
	}{
		{2, 0, 9, 3}, {2, 4, 9, 5}, {1, 0, 9, 2}, {1, 3, 9, 4}, {1, 4, 9, 4}, {3, 0, 9, -1}, {2, 0, 2, -1}, {0, 0, 9, 0}, {2, 6, 9, 6},
	} {
		at, ok := w.Ran(c.n, second(c.from), second(c.to))
		if ok != (c.want >= 0) || ok && !at.Equal(second(c.want)) {
			t.Errorf("%d pods ran, from %d until %d, at %v %v, want %d", c.n, c.from, c.to, at, ok, c.want)
		}
	}
	if n := w.RunningAt(second(4)); n != 1 {
		t.Errorf("%d ran at the fourth second", n)
	}
}

func TestTimelineKnowsWhatBecameOfNodes(t *testing.T) {
	w := newRecordedTimeline()
	w.at(1).nodeIs("went-before", "m5.large", false)
	w.at(2).nodeIs("went-before", "m5.large", true)
	w.at(3).nodeIs("goes", "m5.large", false)
	w.at(4).nodeIs("stays", "r5.large", false)
	w.at(12).nodeIs("comes", "c5.large", false)
	w.at(13).nodeIs("comes-and-goes", "c5.large", false)
	w.at(14).nodeIs("goes", "m5.large", true)
	w.at(15).nodeIs("comes-and-goes", "c5.large", true)
	w.at(25).nodeIs("comes-after", "m5.large", false)
	w.at(26).nodeIs("stays", "r5.large", true)
	c := w.Changes(second(10), second(20))
	if c.Launched != 2 || c.Ended != 2 || c.Kept != 1 || !c.LastGone.Equal(second(15)) || !c.LastOldGone.Equal(second(14)) || !slices.Equal(c.Types, []string{"c5.large", "r5.large"}) {
		t.Errorf("%+v", c)
	}
}
