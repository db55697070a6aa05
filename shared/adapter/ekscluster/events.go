package ekscluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/joiner-sh/joiner/shared/api/autoscalingv1beta1"
	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/api/v1alpha1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	eventSource     = "joiner"
	maxEventMessage = 1024 // bytes; what the newer events API takes, too
	maxEventName    = 253
)

// Reporter tells people, by events and conditions.
type Reporter struct {
	*api
	recent *recentEvents
}

// publish writes one event, or counts it up where it was written before and not just now, by this process or another.
func (c Reporter) publish(ctx context.Context, e model.Event) error {
	id, now := eventID(&e), c.now()
	if !c.recent.due(id, &e, now) {
		return nil
	}
	event := eventObject(&e, id, now)
	events := c.core.CoreV1().Events(event.Namespace)
	_, err := events.Create(ctx, event, metav1.CreateOptions{})
	err = translateError(err, "publish event %s of %s %s", e.Reason, e.Kind, e.Name)
	if fault.Is(err, fault.Conflict) {
		now, err = c.countUp(ctx, event, now, quiet(&e))
	}
	if err == nil {
		c.recent.note(id, now)
	}
	return err
}

// countUp adds one to an event that is there, unless it was reported lately, and returns when it was reported last. A
// patch that changes nothing shows it, which takes no permission to read events and writes nothing.
func (c Reporter) countUp(ctx context.Context, event *corev1.Event, now time.Time,
	quiet time.Duration) (reported time.Time, err error) {
	events := c.core.CoreV1().Events(event.Namespace)
	patch := func(fields map[string]any) (*corev1.Event, error) {
		data, err := json.Marshal(fields)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, "", err, "count event %s", event.Name)
		}
		out, err := events.Patch(ctx, event.Name, types.MergePatchType, data, metav1.PatchOptions{})
		return out, translateError(err, "count event %s", event.Name)
	}
	there, err := patch(map[string]any{})
	if err != nil {
		return now, err
	}
	if age := now.Sub(there.LastTimestamp.Time); age >= 0 && age < quiet {
		return there.LastTimestamp.Time, nil
	}
	_, err = patch(map[string]any{"lastTimestamp": event.LastTimestamp, "count": there.Count + 1})
	return now, err
}

func eventObject(e *model.Event, id string, now time.Time) *corev1.Event {
	at := metav1.NewTime(now.Truncate(time.Second))
	namespace := e.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault // where events of objects without a namespace live
	}
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	name := strings.TrimRight(e.Name[:min(len(e.Name), maxEventName-len(id)-1)], ".-")
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s.%s", name, id)},
		InvolvedObject: corev1.ObjectReference{
			Kind: e.Kind, APIVersion: apiVersion(e.Kind), Namespace: e.Namespace, Name: e.Name, UID: uid(e.UID),
		},
		Reason: e.Reason, Message: cut(e.Message, maxEventMessage), Type: kind, Count: 1,
		FirstTimestamp: at, LastTimestamp: at,
		Source: corev1.EventSource{Component: eventSource}, ReportingController: eventSource,
	}
}

func apiVersion(kind string) string {
	switch kind {
	case apiv1.KindNodePool, apiv1.KindNodeClaim:
		return apiv1.GroupVersion.String()
	case awsv1.KindEC2NodeClass:
		return awsv1.GroupVersion.String()
	case v1alpha1.KindNodeOverlay:
		return v1alpha1.GroupVersion.String()
	case autoscalingv1beta1.KindCapacityBuffer:
		return autoscalingv1beta1.GroupVersion.String()
	}
	return "v1"
}

// cut shortens text to at most limit bytes without splitting a character.
func cut(text string, limit int) string {
	const more = "…"
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(more)], "") + more
}
