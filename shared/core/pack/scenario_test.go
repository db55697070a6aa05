package pack

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

var update = flag.Bool("update", false, "rewrite the plans in testdata")

// TestScenarios plans each cluster in testdata and compares what is written below its line of dashes. The first part is
// one thing a line: its kind, its name, then settings, see parse.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input, want, _ := strings.Cut(string(text), "---\n")
			w, err := parse(input)
			if err != nil {
				t.Fatal(err)
			}
			plan := w.plan()
			for _, problem := range problems(w.in, plan) {
				t.Error(problem)
			}
			got := render(plan)
			if *update {
				if err := os.WriteFile(file, []byte(input+"---\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// parse reads a cluster. Settings: cpu, memory and any other resource; x (how many); weight, taint (key=value:effect),
// limit.RESOURCE, used.RESOURCE, label.KEY, select.KEY, require (KEY OPERATOR VALUE,VALUE), tolerate (key), on (node),
// for a pool also replicas, invalid and minValues.KEY.
func parse(text string) (*world, error) {
	w := newWorld(96)
	w.in.Usage = make(map[string]model.Resources)
	scanner := bufio.NewScanner(strings.NewReader(text))
	for scanner.Scan() {
		line, _, _ := strings.Cut(scanner.Text(), "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) < 2 {
			return nil, fmt.Errorf("line %q has no name", line)
		}
		if err := w.add(fields[0], fields[1], fields[2:]); err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
	}
	return w, scanner.Err()
}

func (w *world) add(kind, name string, settings []string) error {
	var failure error
	each := func(apply func(key, value string) error) {
		for _, setting := range settings {
			key, value, _ := strings.Cut(setting, ":=")
			if value == "" {
				key, value, _ = strings.Cut(setting, "=")
			}
			if err := apply(key, value); err != nil && failure == nil {
				failure = fmt.Errorf("%s: %w", setting, err)
			}
		}
	}
	switch kind {
	case "pool":
		w.pool(name, func(p *model.Pool) { each(func(k, v string) error { return w.poolSetting(p, k, v) }) })
	case "pods", "daemon", "running":
		count, node := 1, ""
		change := func(s *model.PodShape) {
			s.Requests = model.Resources{model.Pods: 1}
			each(func(k, v string) error {
				switch k {
				case "x":
					var err error
					count, err = strconv.Atoi(v)
					return err
				case "on":
					node = v
					return nil
				}
				return podSetting(s, k, v)
			})
		}
		switch kind {
		case "pods":
			var probe model.PodShape
			change(&probe)
			w.pods(name, count, change)
		case "daemon":
			w.daemon(name, change)
		default:
			var probe model.PodShape
			change(&probe)
			w.running(name, node, change)
		}
	case "node":
		w.node(name, func(n *model.Node) {
			n.Allocatable = model.Resources{model.Pods: 110}
			each(func(k, v string) error { return nodeSetting(n, k, v) })
		})
	case "gone": // an offering: type, zone and capacity type, each perhaps *
		w.gone(name)
	default:
		return fmt.Errorf("unknown kind")
	}
	return failure
}

// gone makes offerings unavailable, by TYPE/ZONE/CAPACITYTYPE.
func (w *world) gone(name string) {
	part := strings.Split(name, "/")
	types := w.in.Catalogs["default"]
	for i := range types {
		for j := range types[i].Offerings {
			o := &types[i].Offerings[j]
			if glob(part[0], types[i].Name) && glob(part[1], o.Zone) && glob(part[2], o.CapacityType) {
				o.Available = false
			}
		}
	}
}

func glob(pattern, name string) bool {
	matched, err := filepath.Match(pattern, name)
	return err == nil && matched
}

func (w *world) poolSetting(p *model.Pool, key, value string) error {
	prefix, rest, _ := strings.Cut(key, ".")
	var err error
	switch prefix {
	case "weight":
		var n int64
		n, err = strconv.ParseInt(value, 10, 32)
		p.Weight = int32(n)
	case "taint":
		p.Template.Taints = append(p.Template.Taints, taint(value))
	case "limit":
		if p.Limits == nil {
			p.Limits = make(model.Resources)
		}
		p.Limits[rest], err = resource.Parse(rest, value)
	case "used":
		if w.in.Usage[p.Name] == nil {
			w.in.Usage[p.Name] = make(model.Resources)
		}
		w.in.Usage[p.Name][rest], err = resource.Parse(rest, value)
	case "label":
		if p.Template.Labels == nil {
			p.Template.Labels = make(map[string]string)
		}
		p.Template.Labels[rest] = value
	case "require":
		p.Template.Requirements = append(p.Template.Requirements, require(value))
	case "minValues":
		n, failure := strconv.Atoi(value)
		err = failure
		p.Template.Requirements = append(p.Template.Requirements, model.Requirement{Key: rest, Operator: model.Exists, MinValues: n})
	case "replicas":
		n, failure := strconv.ParseInt(value, 10, 64)
		p.Replicas, err = &n, failure
	case "invalid":
		p.Invalid = append(p.Invalid, value)
	case "class":
		p.Template.ClassName = value
	default:
		err = fmt.Errorf("unknown setting")
	}
	return err
}

func podSetting(s *model.PodShape, key, value string) error {
	prefix, rest, _ := strings.Cut(key, ".")
	switch prefix {
	case "select":
		if s.NodeSelector == nil {
			s.NodeSelector = make(map[string]string)
		}
		s.NodeSelector[rest] = value
	case "require": // one term each: alternatives
		s.RequiredNodeAffinity = append(s.RequiredNodeAffinity, model.NodeTerm{Requirements: []model.Requirement{require(value)}})
	case "tolerate":
		s.Tolerations = append(s.Tolerations, model.Toleration{Key: value, Operator: terms.TolerationExists})
	default:
		amount, err := resource.Parse(key, value)
		s.Requests[key] = amount
		return err
	}
	return nil
}

func nodeSetting(n *model.Node, key, value string) error {
	prefix, rest, _ := strings.Cut(key, ".")
	switch prefix {
	case "label":
		n.Labels[rest] = value
	case "taint":
		n.Taints = append(n.Taints, taint(value))
	default:
		amount, err := resource.Parse(key, value)
		n.Allocatable[key] = amount
		return err
	}
	return nil
}

func taint(text string) model.Taint {
	keyValue, effect, _ := strings.Cut(text, ":")
	key, value, _ := strings.Cut(keyValue, "=")
	return model.Taint{Key: key, Value: value, Effect: effect}
}

// require reads KEY:OPERATOR:VALUE,VALUE.
func require(text string) model.Requirement {
	part := strings.SplitN(text, ":", 3)
	r := model.Requirement{Key: part[0], Operator: model.Operator(part[1])}
	if len(part) > 2 {
		r.Values = strings.Split(part[2], ",")
	}
	return r
}

// render writes a plan for people to review.
func render(plan model.Plan) string {
	var b strings.Builder
	for _, claim := range plan.Claims {
		fmt.Fprintf(&b, "claim of %s: %s/%s/%s at $%.4f, one of %d types, %v %v\n", claim.Pool, claim.Offering.InstanceType, claim.Offering.Zone,
			claim.Offering.CapacityType, claim.Price.USD(), len(claim.InstanceTypes), claim.Zones, claim.CapacityTypes)
		fmt.Fprintf(&b, "  for %s: %s\n  holds %s\n", pods(claim.Pods), resource.String(claim.Requests), resource.String(claim.Reserve))
		for _, key := range resource.Names(labelNames(claim.Labels)) {
			fmt.Fprintf(&b, "  label %s=%s\n", key, claim.Labels[key])
		}
	}
	for _, n := range plan.Nominations {
		fmt.Fprintf(&b, "node %s: %s\n", n.Node, pods(n.Pods))
	}
	for _, u := range plan.Unschedulable {
		fmt.Fprintf(&b, "pod %s: unschedulable\n", u.Pod.Name)
		for _, r := range u.Reasons {
			fmt.Fprintf(&b, "  %s %s: %s. Remedy: %s.\n", r.Pool, r.Code, r.Message, r.Remedy)
		}
	}
	fmt.Fprintf(&b, "price $%.4f\n", plan.Price.USD())
	return b.String()
}

// labelNames lends resource.Names its sorting.
func labelNames(labels map[string]string) model.Resources {
	out := make(model.Resources)
	for key := range labels {
		if !strings.HasPrefix(key, "karpenter.") {
			out[key] = 0
		}
	}
	return out
}

// pods writes the names of pods, like ones counted.
func pods(refs []model.PodRef) string {
	var parts []string
	for i := 0; i < len(refs); {
		workload, j := refs[i].Name[:strings.LastIndexByte(refs[i].Name, '-')], i
		for j < len(refs) && strings.HasPrefix(refs[j].Name, workload+"-") {
			j++
		}
		parts = append(parts, fmt.Sprintf("%d %s", j-i, workload))
		i = j
	}
	return strings.Join(parts, ", ")
}
