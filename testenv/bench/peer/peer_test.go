package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestPeerAnswersEveryFamily gives a small problem of each family to both planners, as `make bench-peer` gives large ones.
func TestPeerAnswersEveryFamily(t *testing.T) {
	out := compare(t, "--pods", "60", "--runs", "1")
	ours, peers := strings.Count(out, " ours "), strings.Count(out, " peer ")
	if ours < 10 || ours != peers {
		t.Errorf("%d answers of ours and %d of the peer, want the same number, 10 at least:\n%s", ours, peers, out)
	}
}

// TestPeerConvergesBesideOurs gives small clusters to both until nothing of them is left to be given back, as
// `make bench-converge` gives large ones: both end, and ours costs no more than the peer's.
func TestPeerConvergesBesideOurs(t *testing.T) {
	out := compare(t, "--consolidate", "--nodes", "16", "--seeds", "1,2", "--timeout", "2m")
	rows := regexp.MustCompile(`(?m)^(underused|packed)-n16-s[12] +(ours|peer) +(\d+) .*→ +([0-9.]+) `).FindAllStringSubmatch(out, -1)
	if len(rows) != 8 || strings.Contains(out, "cut short") {
		t.Fatalf("%d rows, want one of each for four clusters, none of them cut short:\n%s", len(rows), out)
	}
	for _, row := range rows {
		if row[1] == "underused" && row[3] == "0" {
			t.Errorf("%s decides nothing about a cluster of which half is not used:\n%s", row[2], out)
		}
	}
}

// compare builds the peer and returns what the comparison says, which has to end well.
func compare(t *testing.T, flags ...string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "peer")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	command := exec.Command("go", append([]string{"run", "./testenv/bench/compare", "--peer", bin}, flags...)...)
	command.Dir = "../../.."
	command.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("compare: %v\n%s", err, out)
	}
	return string(out)
}

func pod(name, node string, tag string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": tag}}, Spec: corev1.PodSpec{NodeName: node}}
}

func TestCacheSelectsByIndexAndLabelAndCopies(t *testing.T) {
	first := pod("a", "n1", "web")
	kube, err := newCached([]client.Object{first, pod("b", "n1", "db"), pod("c", "n2", "web")})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for name, c := range map[string]struct {
		options []client.ListOption
		want    int
	}{
		"all":            {nil, 3},
		"by node":        {[]client.ListOption{client.MatchingFields{"spec.nodeName": "n1"}}, 2},
		"by label":       {[]client.ListOption{client.MatchingLabels{"app": "web"}}, 2},
		"by both":        {[]client.ListOption{client.MatchingFields{"spec.nodeName": "n1"}, client.MatchingLabelsSelector{Selector: labels.SelectorFromSet(labels.Set{"app": "web"})}}, 1},
		"of a namespace": {[]client.ListOption{client.InNamespace("other")}, 0},
	} {
		var list corev1.PodList
		if err := kube.List(ctx, &list, c.options...); err != nil || len(list.Items) != c.want {
			t.Errorf("%s: %d pods, %v, want %d", name, len(list.Items), err, c.want)
		}
	}
	var got corev1.Pod
	if err := kube.Get(ctx, client.ObjectKey{Namespace: "default", Name: "a"}, &got); err != nil {
		t.Fatal(err)
	}
	got.Labels["app"] = "changed"
	if first.Labels["app"] != "web" {
		t.Error("what was read is the stored object, not a copy")
	}
	if err := kube.Get(ctx, client.ObjectKey{Namespace: "default", Name: "z"}, &got); !apierrors.IsNotFound(err) {
		t.Errorf("a pod there is not: %v, want not found", err)
	}
	if err := kube.List(ctx, &corev1.PodList{}, client.MatchingFields{"spec.unknown": "x"}); err == nil {
		t.Error("a field without an index is no error")
	}
}
