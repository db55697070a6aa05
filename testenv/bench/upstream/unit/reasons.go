package unit

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Reason says why specs do not pass: an entry of reasons.yaml, which people write.
type Reason struct {
	Suite string `json:"suite"` // a folder below pkg/controllers
	// Specs are full texts, in which a star is any text. Every spec of the suite that one of them fits has this reason.
	Specs []string `json:"specs"`
	// Kind is difference (meant, and a row of docs/compatibility.md says so), artefact (the spec looks into Karpenter), waiting (not built yet).
	Kind string `json:"kind"`
	Why  string `json:"why"`
	Row  string `json:"row,omitempty"` // of a difference: text that its row of docs/compatibility.md has
}

var kinds = []string{"difference", "artefact", "waiting"}

// readReasons reads reasons.yaml. compatibility is the text of docs/compatibility.md.
func readReasons(path, compatibility string) ([]Reason, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []Reason
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i, r := range all {
		switch {
		case r.Suite == "" || r.Why == "" || len(r.Specs) == 0:
			return nil, fmt.Errorf("%s: entry %d: suite, specs and why are needed", path, i+1)
		case !slices.Contains(kinds, r.Kind):
			return nil, fmt.Errorf("%s: entry %d: kind %q: must be one of %s", path, i+1, r.Kind, strings.Join(kinds, ", "))
		case (r.Kind == "difference") != (r.Row != ""):
			return nil, fmt.Errorf("%s: entry %d: a difference, and nothing else, names its row of docs/compatibility.md", path, i+1)
		case r.Row != "" && !strings.Contains(compatibility, r.Row):
			return nil, fmt.Errorf("%s: entry %d: docs/compatibility.md has no row with %q", path, i+1, r.Row)
		}
	}
	return all, nil
}

// fits reports whether a text is as a pattern says.
func fits(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	ok, _ := regexp.MatchString("(?s)^"+strings.Join(parts, ".*")+"$", text)
	return ok
}

// evaluated are outcomes with the reasons found for them.
type evaluated struct {
	of       []Outcome
	reasons  []Reason
	reason   []int // of each outcome, the index of its reason; -1 = none
	problems []string
}

// evaluate finds each outcome's reason. Problems are failures without one, reasons of specs that pass, and reasons of nothing.
func evaluate(all []Outcome, reasons []Reason) *evaluated {
	j := &evaluated{of: all, reasons: reasons}
	used := make([][]bool, len(reasons))
	for i := range reasons {
		used[i] = make([]bool, len(reasons[i].Specs))
	}
	for _, o := range all {
		found := -1
		for i, r := range reasons {
			if r.Suite != o.Suite {
				continue
			}
			for k, pattern := range r.Specs {
				if fits(pattern, o.Spec) {
					found, used[i][k] = i, true
				}
			}
		}
		j.reason = append(j.reason, found)
		switch {
		case o.Status == Failed && found < 0:
			j.problems = append(j.problems, fmt.Sprintf("failed without a reason: %s: %s (%s)\n    %s", o.Suite, o.Spec, o.Place, o.Why))
		case o.Status == Passed && found >= 0:
			j.problems = append(j.problems, fmt.Sprintf("passes, and reasons.yaml has why it does not: %s: %s", o.Suite, o.Spec))
		}
	}
	ran := map[string]bool{}
	for _, o := range all {
		ran[o.Suite] = true
	}
	for i, r := range reasons {
		for k, pattern := range r.Specs {
			if ran[r.Suite] && !used[i][k] {
				j.problems = append(j.problems, fmt.Sprintf("no spec is called that: %s: %s", r.Suite, pattern))
			}
		}
	}
	return j
}

// failures says how many failed for which kind of reason.
func (j *evaluated) failures() string {
	n := map[string]int{}
	for i, o := range j.of {
		switch {
		case o.Status != Failed:
		case j.reason[i] < 0:
			n[""]++
		default:
			n[j.reasons[j.reason[i]].Kind]++
		}
	}
	return fmt.Sprintf("Of those that failed, %d are differences that are meant, %d look into Karpenter, %d wait for what is not built, and %d have no reason.",
		n["difference"], n["artefact"], n["waiting"], n[""])
}

// table writes DIFFERENCES.md.
func (j *evaluated) table(ran *Ran) []byte {
	var out bytes.Buffer
	out.WriteString("# Karpenter's unit specs, and Joiner\n\n")
	fmt.Fprintf(&out, "Written by `make upstream-unit WRITE=1`; by hand is `reasons.yaml`. The specs are those of Karpenter %s, unchanged, with `joiner plan`,\n`lint` and `types` in the place of its planner and of its controller of NodeOverlays, and Joiner's definitions in the place of its own;\ndoc.go says how. A spec that fails without a reason fails the run, and so does a reason whose spec passes.\n\n", ran.Version)
	if ran.Quick {
		out.WriteString("This run kept objects in memory (`-quick`): nothing was validated by an API server, and only some of what one fills in was filled in.\n\n")
	}
	out.WriteString("| suite | specs | passed | failed | not runnable |\n|---|---|---|---|---|\n")
	var total [4]int
	for _, suite := range j.suites() {
		var n [4]int
		for _, o := range j.of {
			if o.Suite != suite {
				continue
			}
			n[0]++
			n[1+slices.Index([]Status{Passed, Failed, NotRunnable}, o.Status)]++
		}
		for i := range n {
			total[i] += n[i]
		}
		fmt.Fprintf(&out, "| %s | %d | %d | %d | %d |\n", suite, n[0], n[1], n[2], n[3])
	}
	fmt.Fprintf(&out, "| all | %d | %d | %d | %d |\n\n%s\n", total[0], total[1], total[2], total[3], j.failures())
	for _, kind := range kinds {
		title := map[string]string{"difference": "Differences that are meant", "artefact": "Specs that look into Karpenter", "waiting": "Waiting"}[kind]
		head := false
		for i, r := range j.reasons {
			if r.Kind != kind {
				continue
			}
			if !head {
				fmt.Fprintf(&out, "\n## %s\n", title)
				head = true
			}
			fmt.Fprintf(&out, "\n%s\n", strings.TrimSpace(r.Why))
			if r.Row != "" {
				fmt.Fprintf(&out, "(docs/compatibility.md: %q)\n", r.Row)
			}
			out.WriteString("\n")
			for k, o := range j.of {
				if j.reason[k] == i {
					fmt.Fprintf(&out, "- %s: %s (%s)\n", o.Suite, o.Spec, o.Status)
				}
			}
		}
	}
	why := map[string][]string{}
	var order []string
	for k, o := range j.of {
		if o.Status == NotRunnable && j.reason[k] < 0 {
			if why[o.Why] == nil {
				order = append(order, o.Why)
			}
			why[o.Why] = append(why[o.Why], o.Suite+": "+o.Spec)
		}
	}
	if len(order) > 0 {
		out.WriteString("\n## Not runnable\n")
	}
	for _, reason := range order {
		fmt.Fprintf(&out, "\n%s\n\n", strings.ToUpper(reason[:1])+reason[1:]+".")
		for _, spec := range why[reason] {
			fmt.Fprintf(&out, "- %s\n", spec)
		}
	}
	return out.Bytes()
}

func (j *evaluated) suites() []string {
	var out []string
	for _, o := range j.of {
		if !slices.Contains(out, o.Suite) {
			out = append(out, o.Suite)
		}
	}
	return out
}
