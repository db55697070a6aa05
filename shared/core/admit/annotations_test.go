package admit

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func annotated(key, value string) func(*model.Pool) {
	return func(p *model.Pool) { p.Annotations = map[string]string{key: value} }
}

// M61: an annotation for Joiner that is misspelled, is on the wrong object or has a value without a meaning is warned
// of.
func TestM61AnnotationsWithoutEffectAreWarnedOf(t *testing.T) {
	const pools, boolean = model.AnnotationGentleExpiry, `Write "true" or "false".`
	for name, c := range map[string]struct {
		key, value string
		parts      []string // none = nothing is said
	}{
		"as it is meant":      {pools, "true", nil},
		"off":                 {pools, "false", nil},
		"another value":       {pools, "yes", []string{`"yes"`, "no effect", boolean}},
		"no value":            {model.AnnotationTwoZones, "", []string{"no effect", boolean}},
		"M91: a time":         {model.AnnotationJoinWithin, "40m", nil},
		"M91: too long":       {model.AnnotationJoinWithin, "3h", []string{`"3h"`, "no effect", `from "1m" to "2h"`}},
		"M91: no repair":      {model.AnnotationRepairAfter, "Never", nil},
		"M91: no time":        {model.AnnotationRepairAfter, "soon", []string{"no effect", `or "Never"`}},
		"M87: two alarms":     {model.AnnotationStopAlarms, "errors, latency", nil},
		"M87: no alarm":       {model.AnnotationStopAlarms, " , ", []string{"no effect", "such as checkout-errors"}},
		"misspelled":          {"joiner.sh/expire-within-budget", "true", []string{"no such", "Write " + pools}},
		"unheard of":          {"joiner.sh/blue", "x", []string{"no such annotation", "Remedy: Remove it."}},
		"of somebody else":    {"example.com/joiner", "x", nil},
		"like one of another": {"notjoiner.sh/blue", "x", nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := create(plain(annotated(c.key, c.value)), known())
			if !v.Allowed() {
				t.Errorf("refused: %v", v.Refusals)
			}
			if c.parts == nil {
				silent(t, v.Warnings, "metadata.annotations")
			} else {
				said(t, v.Warnings, "metadata.annotations["+c.key+"]", c.parts...)
			}
		})
	}
	class := readyClass("default")
	class.Annotations = map[string]string{model.AnnotationGentleExpiry: "true"}
	v := Evaluate(model.Admission{Operation: model.OperationCreate, Class: &class}, known())
	said(t, v.Warnings, "metadata.annotations["+model.AnnotationGentleExpiry+"]", "it is for NodePools")
	for value, warns := range map[string]bool{"first": false, "none": false, "true": true} {
		class.Annotations = map[string]string{model.AnnotationOpenReservations: value}
		v := Evaluate(model.Admission{Operation: model.OperationCreate, Class: &class}, known())
		if warns {
			said(t, v.Warnings, "metadata.annotations["+model.AnnotationOpenReservations+"]", `"first" or "none"`)
		} else {
			silent(t, v.Warnings, "metadata.annotations")
		}
	}
}

// An edit of annotations alone is warned of as well, and a status that is written is not.
func TestM61EditsOfAnnotationsAreWarnedOf(t *testing.T) {
	old, now := plain(nil), plain(annotated("joiner.sh/blue", "x"))
	update := func(old, now *model.Pool) model.Verdict {
		return Evaluate(model.Admission{Operation: model.OperationUpdate, OldPool: old, Pool: now}, known())
	}
	said(t, update(old, now).Warnings, "metadata.annotations[joiner.sh/blue]")
	if v := update(now, now); len(v.Warnings) != 0 {
		t.Errorf("nothing changed: %v", v.Warnings)
	}
	if v := Evaluate(model.Admission{Operation: model.OperationDelete, Pool: now}, Facts{}); len(v.Warnings) != 0 {
		t.Errorf("of a deletion: %v", v.Warnings)
	}
}

// M62: a node's do-not-disrupt is "true" or nothing, whatever a pod's may be.
func TestM62DoNotDisruptOfATemplateIsTrueOrNothing(t *testing.T) {
	template := func(key, value string) []model.Finding {
		v := create(plain(func(p *model.Pool) { p.Template.Annotations = map[string]string{key: value} }), known())
		return v.Warnings
	}
	const at = "spec.template.metadata.annotations"
	said(t, template(model.AnnotationNotDisrupt, "30m"), at+"[karpenter.sh/do-not-disrupt]", `"30m"`,
		"nothing protects these nodes", "annotate the pods")
	silent(t, template(model.AnnotationNotDisrupt, "true"), at)
	silent(t, template(model.AnnotationNotDisrupt, "false"), at)
	silent(t, template("example.com/any", "x"), at)
	said(t, template(model.AnnotationGentleExpiry, "true"), at+"["+model.AnnotationGentleExpiry+"]",
		"it is for NodePools", "Write it there.")
	claim := model.StandaloneClaim{Name: "one", Template: model.Template{ClassName: "default"}}
	claim.Template.Annotations = map[string]string{model.AnnotationNotDisrupt: "1h"}
	v := Evaluate(model.Admission{Operation: model.OperationCreate, StandaloneClaim: &claim}, known())
	said(t, v.Warnings, "metadata.annotations[karpenter.sh/do-not-disrupt]", `"1h"`)
}

// U45: nobody is warned of the price that Joiner writes on a NodeClaim that people made.
func TestU45ThePriceOfANodeClaimIsNoStrangeAnnotation(t *testing.T) {
	claim := model.StandaloneClaim{Name: "one", Template: model.Template{ClassName: "default"}}
	claim.Template.Annotations = map[string]string{model.AnnotationPrice: "0.0850"}
	v := Evaluate(model.Admission{Operation: model.OperationUpdate, StandaloneClaim: &claim}, known())
	silent(t, v.Warnings, "metadata.annotations")
	v = create(plain(annotated(model.AnnotationPrice, "1")), known())
	said(t, v.Warnings, "metadata.annotations["+model.AnnotationPrice+"]", "no such annotation")
}

// M86: the annotations of a pod's window are for pods, and each is warned of that nobody can read.
func TestM86WindowsThatSayNothingAreWarnedOf(t *testing.T) {
	const schedule, duration = model.AnnotationWindowSchedule, model.AnnotationWindowDuration
	good := map[string]string{schedule: "0 2 * * sat", duration: "2h", model.AnnotationWindowTimeZone: "Asia/Tokyo"}
	if got := PodAnnotations(good); len(got) != 0 {
		t.Errorf("%v", got)
	}
	for key, value := range map[string]string{
		schedule: "@every 1h", duration: "a night", model.AnnotationWindowTimeZone: "Mars",
	} {
		said(t, PodAnnotations(map[string]string{key: value}), "metadata.annotations["+key+"]", value, "Write ")
	}
	v := create(plain(annotated(schedule, "@daily")), known())
	said(t, v.Warnings, "metadata.annotations["+schedule+"]", "it is for pods")
}

// Every annotation that the model has a name for is among those that people may write.
func TestM61EveryAnnotationIsKnown(t *testing.T) {
	files, err := filepath.Glob("../../model/*.go")
	if err != nil {
		t.Fatal(err)
	}
	n, named := 0, regexp.MustCompile(`\bAnnotation\w+\s*=\s*"(joiner\.sh/[^"]+)"`)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range named.FindAllStringSubmatch(string(text), -1) {
			n++
			if found[1] == model.AnnotationPrice { // Joiner's own
				continue
			}
			if !slices.Contains(keysOf(annotations), found[1]) {
				t.Errorf("%s names the annotation %s, and admission warns that there is none", file, found[1])
			}
		}
	}
	if n < 2 {
		t.Errorf("only %d annotations were found", n)
	}
}

// What a schema takes and nothing goes by is passed on as a warning, unless the object is refused.
func TestIgnoredPartsAreWarnedOf(t *testing.T) {
	const sentence = `spec.template.spec.taints[0].timeAdded: has no effect. Remedy: Remove it.`
	a := model.Admission{Operation: model.OperationCreate, Pool: plain(nil), Ignored: []string{sentence}}
	said(t, Evaluate(a, known()).Warnings, sentence)
	a.Pool.Invalid = []string{"spec.x: wrong"}
	if v := Evaluate(a, known()); len(v.Warnings) != 0 || len(v.Refusals) != 1 {
		t.Errorf("%+v", v)
	}
}

// M29: a capacity type that does not exist, beside one that does, is warned of whether or not the catalog is known.
func TestM29UnknownCapacityTypesAreWarnedOf(t *testing.T) {
	pool := plain(require(in(model.LabelArch, "amd64"), in(model.LabelCapacityType, "on-demnd", model.Spot)))
	for name, k := range map[string]Facts{"with a catalog": known(), "without one": {}} {
		v := create(pool, k)
		if !v.Allowed() {
			t.Errorf("%s: refused: %v", name, v.Refusals)
		}
		said(t, v.Warnings, atRequirements+`[1].values: "on-demnd"`, "on-demand may be meant")
	}
	silent(t, create(plain(nil), Facts{}).Warnings, model.LabelCapacityType)
}
