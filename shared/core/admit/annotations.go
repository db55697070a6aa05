package admit

import (
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/disruption/budget"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// ownDomain is what keys of annotations begin with that people write for Joiner.
const ownDomain = "joiner.sh/"

// Kinds of objects that people annotate.
const (
	onPools = "NodePools"
	onPods  = "pods"

	onClasses = "EC2NodeClasses"
	onNodes   = "nodes"
)

// annotation is one that people write for Joiner.
type annotation struct {
	key    string
	on     []string                // kinds of objects that it says something about
	reads  func(value string) bool // whether the value has a meaning
	values string                  // those that have, for people
}

// annotations are all there are. The watcher and the functions read them where they are needed.
var annotations = []annotation{
	{model.AnnotationGentleExpiry, []string{onPools}, isBoolean, `"true" or "false"`},
	{model.AnnotationTimeZone, []string{onPools}, isTimeZone, "an IANA name such as Europe/Berlin"},
	{model.AnnotationWindowSchedule, []string{onPods}, isSchedule, "five fields of cron, or @daily and the like"},
	{model.AnnotationWindowDuration, []string{onPods}, isDuration, "a duration of a second or more, such as 2h"},
	{model.AnnotationWindowTimeZone, []string{onPods}, isTimeZone, "an IANA name such as Europe/Berlin"},
	{model.AnnotationSystem, []string{onPods}, isBoolean, `"true" or "false"`},
	{model.AnnotationTerminateFirst, []string{onPools}, isBoolean, `"true" or "false"`},
	{model.AnnotationZoneByZone, []string{onPools}, isBoolean, `"true" or "false"`},
	{model.AnnotationByReason, []string{onPools}, isBoolean, `"true" or "false"`},
	{model.AnnotationSingleReplicas, []string{onPools}, isBoolean, `"true" or "false"`},
	{model.AnnotationStopAlarms, []string{onPools}, isAlarms,
		"names of CloudWatch alarms with commas between them, such as checkout-errors,latency"},
	{model.AnnotationTwoZones, []string{onPools, onPods}, isBoolean, `"true" or "false"`},
	{model.AnnotationJoinWithin, []string{onPools}, isJoinWait, `a duration from "1m" to "2h"`},
	{model.AnnotationRepairAfter, []string{onPools}, isRepairWait, `a duration from "1m" to "24h", or "Never"`},
	{model.AnnotationUserDataVariables, []string{onClasses}, isBoolean, `"true" or "false"`},
	{model.AnnotationOpenReservations, []string{onClasses}, isOpenReservations, `"first" or "none"`},
}

const zoneRemedy = "Write an IANA name such as Europe/Berlin."

func isTimeZone(value string) bool {
	_, err := budget.Zone(value)
	return err == nil && value != ""
}

func isSchedule(value string) bool {
	_, err := budget.OfPod(&model.PodWindow{Schedule: value, Duration: "1h"})
	return err == nil
}

func isDuration(value string) bool {
	_, err := budget.OfPod(&model.PodWindow{Schedule: "@daily", Duration: value})
	return err == nil
}

func isBoolean(value string) bool { return value == "true" || value == "false" }

func isAlarms(value string) bool { return len(model.AlarmNames(value)) > 0 }

func isJoinWait(value string) bool {
	_, ok := model.JoinWait(value)
	return ok
}

func isOpenReservations(value string) bool {
	return value == model.OpenReservationsFirst || value == "none"
}

func isRepairWait(value string) bool {
	_, ok := model.RepairWait(value)
	return ok
}

// withoutEffect warns of what the object says and nothing goes by. Of an update it does so only where spec or
// annotations change: nobody reads a warning about a status.
func withoutEffect(a *model.Admission) []model.Finding {
	const own, ofNodes = "metadata.annotations", "spec.template.metadata.annotations"
	out := findings(a.Ignored)
	switch {
	case a.Operation == model.OperationDelete:
		return nil
	case a.Pool != nil:
		old := a.OldPool
		if old != nil && samePool(*old, *a.Pool) && maps.Equal(old.Annotations, a.Pool.Annotations) {
			return nil
		}
		out = append(out, strangeAnnotations(own, a.Pool.Annotations, onPools)...)
		return append(out, nodeAnnotations(ofNodes, a.Pool.Template.Annotations)...)
	case a.Class != nil:
		old := a.OldClass
		if old != nil && sameClass(*old, *a.Class) && maps.Equal(old.Annotations, a.Class.Annotations) {
			return nil
		}
		return append(out, strangeAnnotations(own, a.Class.Annotations, onClasses)...)
	case a.StandaloneClaim != nil:
		return append(out, nodeAnnotations(own, a.StandaloneClaim.Template.Annotations)...)
	}
	return out
}

// strangeAnnotations warns of annotations for Joiner that mean nothing on an object of the kind.
func strangeAnnotations(field string, all map[string]string, on string) []model.Finding {
	var out []model.Finding
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !strings.HasPrefix(key, ownDomain) || on == onNodes && key == model.AnnotationPrice {
			continue // a template with ours is refused
		}
		f := model.Finding{Field: field + "[" + key + "]", Value: all[key]}
		i := slices.IndexFunc(annotations, func(a annotation) bool { return a.key == key })
		switch {
		case i < 0:
			f.Message, f.Remedy = "Joiner knows no such annotation: it has no effect", "Remove it."
			if hint := requirement.Nearest(key, keysOf(annotations)); hint != "" {
				f.Remedy = "Write " + hint + " if that is meant."
			}
		case !slices.Contains(annotations[i].on, on):
			f.Message = "the annotation has no effect here: it is for " + strings.Join(annotations[i].on, " and ")
			f.Remedy = "Write it there."
		case !annotations[i].reads(all[key]):
			f.Message, f.Remedy = "the value has no effect", "Write "+annotations[i].values+"."
		default:
			continue
		}
		out = append(out, f)
	}
	return out
}

// PodAnnotations warns of annotations of a pod for Joiner that mean nothing. No webhook is asked about pods: who reads
// them from files says it.
func PodAnnotations(all map[string]string) []model.Finding {
	return strangeAnnotations("metadata.annotations", all, onPods)
}

func keysOf(list []annotation) []string {
	var out []string
	for _, a := range list {
		out = append(out, a.key)
	}
	return out
}

// nodeAnnotations warns of annotations of nodes that mean nothing there. A pod's do-not-disrupt may be a duration, a
// node's may not.
func nodeAnnotations(field string, all map[string]string) []model.Finding {
	out := strangeAnnotations(field, all, onNodes)
	if value, has := all[model.AnnotationNotDisrupt]; has && !isBoolean(value) {
		out = append(out, model.Finding{Field: field + "[" + model.AnnotationNotDisrupt + "]", Value: value,
			Message: `of a node only "true" has an effect: nothing protects these nodes`,
			Remedy:  `Write "true", or annotate the pods, which may name a duration.`})
	}
	return out
}
