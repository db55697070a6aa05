package ekscluster

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/api/autoscalingv1beta1"
	"github.com/joiner-sh/joiner/shared/api/v1alpha1"
	"github.com/joiner-sh/joiner/shared/fault"
)

// listersWithBuffers are the listers of every kind except pods, those of the kinds that CapacityBuffers are of
// included: buffers come first, since most clusters have none and what they are of is in every cluster.
func (c Reader) listersWithBuffers(ctx context.Context) ([]lister, error) {
	var buffers []any
	if err := listAll(ctx, c.bufferLister(), func(object any) { buffers = append(buffers, object) }); err != nil {
		return nil, err
	}
	out := append(c.listers(), c.permitted(c.customLister(v1alpha1.NodeOverlayResource)))
	out = append(out, c.deviceListers()...)
	if len(buffers) == 0 {
		return out, nil
	}
	have := make([]string, len(out))
	for i := range out {
		have[i] = out[i].kind
	}
	for _, object := range buffers {
		buffer, ok := object.(*autoscalingv1beta1.CapacityBuffer)
		if !ok {
			continue
		}
		key, known := translate.ScalableOf(buffer)
		if l := c.scalableLister(key.Kind); known && !slices.Contains(have, l.kind) {
			out, have = append(out, l), append(have, l.kind)
		}
	}
	given := lister{
		kind: "capacitybuffers",
		page: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &unstructured.UnstructuredList{}, nil
		},
		each: func(_ runtime.Object, add func(any)) {
			for _, object := range buffers {
				add(object)
			}
		},
	}
	return append(out, given), nil
}

// bufferLister reads CapacityBuffers. Where they are not defined, or whoever asks may not look at them as its
// permissions are older than this program, there are none.
func (c Reader) bufferLister() lister {
	l := c.permitted(c.customLister(autoscalingv1beta1.CapacityBufferResource))
	l.each = func(list runtime.Object, add func(any)) {
		_ = meta.EachListItem(list, func(object runtime.Object) error {
			if buffer, err := translate.BufferObject(object.(*unstructured.Unstructured)); err == nil {
				add(buffer)
			}
			return nil
		})
	}
	return l
}

// permitted reads nothing where whoever asks may not look at the kind.
func (Reader) permitted(l lister) lister {
	page := l.page
	l.page = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		list, err := page(ctx, o)
		if fault.Is(translateError(err, "list %s", l.kind), fault.Denied) {
			return &unstructured.UnstructuredList{}, nil
		}
		return list, err
	}
	return l
}

// scalableLister reads a kind that buffers can be of.
func (c Reader) scalableLister(kind string) lister {
	apps := c.core.AppsV1()
	switch kind {
	case translate.KindPodTemplate:
		return of(c.core.CoreV1().PodTemplates(""))
	case translate.KindDeployment:
		return of(apps.Deployments(""))
	case translate.KindStatefulSet:
		return of(apps.StatefulSets(""))
	case translate.KindReplicaSet:
		return of(apps.ReplicaSets(""))
	}
	return lister{}
}
