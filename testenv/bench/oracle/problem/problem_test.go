package problem

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
)

// TestSeedIsAllThereIs makes problems twice.
func TestSeedIsAllThereIs(t *testing.T) {
	for seed := range uint64(50) {
		if !reflect.DeepEqual(New(seed, Small), New(seed, Small)) {
			t.Errorf("seed %d gives two problems", seed)
		}
	}
}

// TestEveryFeatureIsDrawn counts the problems that use each feature, and those that have nodes.
func TestEveryFeatureIsDrawn(t *testing.T) {
	const problems = 500
	with, nodes := make(map[Feature]int), 0
	for seed := range uint64(problems) {
		p := New(seed, Small)
		for _, f := range p.Features {
			with[f]++
		}
		if len(p.Nodes) > 0 {
			nodes++
		}
		if len(p.Pending()) == 0 {
			t.Errorf("seed %d: no pod waits", seed)
		}
	}
	for _, f := range Features {
		if with[f] < problems/10 {
			t.Errorf("%s is in %d of %d problems", f, with[f], problems)
		}
	}
	if nodes < problems/2 || nodes == problems {
		t.Errorf("%d of %d problems have nodes", nodes, problems)
	}
}

// TestPodsAreValid holds every pod that waits to what an API server takes.
func TestPodsAreValid(t *testing.T) {
	for seed := range uint64(300) {
		for _, pod := range New(seed, Small).Pending() {
			full, internal := pod.DeepCopy(), &core.Pod{}
			for i := range full.Spec.Containers {
				full.Spec.Containers[i].TerminationMessagePolicy = corev1.TerminationMessageReadFile
			}
			defaults.SetObjectDefaults_Pod(full)
			if err := defaults.Convert_v1_Pod_To_core_Pod(full, internal, nil); err != nil {
				t.Fatal(err)
			}
			options := podutil.GetValidationOptionsFromPodSpecAndMeta(&internal.Spec, nil, &internal.ObjectMeta, nil)
			for _, problem := range validation.ValidatePodSpec(&internal.Spec, &internal.ObjectMeta, nil, options) {
				t.Errorf("seed %d: pod %s/%s: %v", seed, pod.Namespace, pod.Name, problem)
			}
		}
	}
}

// TestPoolsAreValid holds every pool to what the planner takes.
func TestPoolsAreValid(t *testing.T) {
	for seed := range uint64(300) {
		for _, pool := range New(seed, Small).Pools {
			if invalid := translate.Pool(pool).Invalid; len(invalid) > 0 {
				t.Errorf("seed %d: pool %s: %v", seed, pool.Name, invalid)
			}
		}
	}
}

// TestYAMLSaysTheSame reads problems back.
func TestYAMLSaysTheSame(t *testing.T) {
	for seed := range uint64(100) {
		p := New(seed, Small)
		text, err := p.YAML()
		if err != nil {
			t.Fatal(err)
		}
		var b translate.Builder
		documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
		for {
			var object unstructured.Unstructured
			err := documents.Decode(&object)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(object.Object) > 0 {
				b.Add(&object)
			}
		}
		if got, want := b.Snapshot("oracle", Now), p.Input().Snapshot; !reflect.DeepEqual(got, want) {
			t.Errorf("seed %d: read back as\n%+v\nwant\n%+v", seed, got, want)
		}
	}
}
