package referee

import (
	"maps"
	"slices"
	"strings"
)

// Launch is what one of the two sent to launch a scenario's machine.
type Launch struct {
	Fleet     Flat            // the fleet without its templates
	Instances map[string]Flat // what each machine would be, by type and zone: the override's settings and its template's
	DryFleet  Flat
	Dry       map[string]Flat // machines of the dry fleet
	Run       Flat            // RunInstances, a dry run, with the template's data under "template"
	Profile   Flat            // CreateInstanceProfile, with the role it is given
}

// LaunchOf reads what one of the two sent out of a site's record.
func LaunchOf(s *Site, of func(e Exchange) bool) Launch {
	s.Helper()
	made := map[string]Flat{} // templates by name
	for _, e := range s.Record.Exchanges("CreateLaunchTemplate") {
		if of(e) {
			data := Flatten(e.Form)
			name := data["LaunchTemplateName"]
			delete(data, "LaunchTemplateName")
			made[name] = data
		}
	}
	var l Launch
	for _, e := range s.Record.Exchanges("CreateFleet") {
		if !of(e) {
			continue
		}
		if e.Form.Get("DryRun") == "true" {
			l.DryFleet, l.Dry = s.fleet(parseForm(e.Form), made)
		} else {
			l.Fleet, l.Instances = s.fleet(parseForm(e.Form), made)
		}
	}
	for _, action := range []string{"CreateInstanceProfile", "AddRoleToInstanceProfile"} {
		for _, e := range s.Record.Exchanges(action) {
			if of(e) {
				l.Profile = merged(l.Profile, Flatten(e.Form))
			}
		}
	}
	for _, e := range s.Record.Exchanges("RunInstances") {
		if of(e) {
			l.Run = Flatten(e.Form)
			maps.Copy(l.Run, under("template", made[l.Run["LaunchTemplate / LaunchTemplateName"]]))
			delete(l.Run, "LaunchTemplate / LaunchTemplateName")
		}
	}
	return l
}

func merged(a, b Flat) Flat {
	out := Flat{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// fleet takes a fleet's request apart.
func (s *Site) fleet(form *tree, made map[string]Flat) (Flat, map[string]Flat) {
	s.Helper()
	instances := map[string]Flat{}
	for _, config := range form.members["LaunchTemplateConfigs"].items() {
		specification := Flat{}
		config.members["LaunchTemplateSpecification"].into(specification, "")
		data, known := made[specification["LaunchTemplateName"]]
		if !known {
			s.Errorf("a fleet names launch template %s, which was not made", specification["LaunchTemplateName"])
		}
		delete(specification, "LaunchTemplateName")
		for _, override := range config.members["Overrides"].items() {
			instance := under("template", data)
			maps.Copy(instance, under("template", specification))
			override.into(instance, "override")
			zone := s.zoneOf(instance["override / SubnetId"])
			key := instance["override / InstanceType"] + "@" + zone
			if _, twice := instances[key]; twice {
				s.Errorf("a fleet names %s twice", key)
			}
			instances[key] = instance
		}
	}
	delete(form.members, "LaunchTemplateConfigs")
	rest := Flat{}
	form.into(rest, "")
	delete(rest, "Action")
	delete(rest, "Version")
	return rest, instances
}

func (s *Site) zoneOf(subnet string) string {
	for _, n := range s.EC2.Subnets() {
		if n.ID == subnet {
			return n.Zone
		}
	}
	return "?"
}

// CompareLaunches returns what differs between two launches of a scenario, field by field. Of a field that differs in several machines in
// the same way it tells once. Which of its types a class is tried with is not compared: Karpenter takes the first of a list without order.
func CompareLaunches(scenario string, theirs, ours Launch) []Difference {
	out := Compare(scenario+" / InstanceProfile", theirs.Profile, ours.Profile)
	out = append(out, Compare(scenario+" / CreateFleet", theirs.Fleet, ours.Fleet)...)
	out = append(out, compareInstances(scenario+" / CreateFleet", theirs.Instances, ours.Instances)...)
	another := theirs.Run["InstanceType"] != ours.Run["InstanceType"]
	out = append(out, Compare(scenario+" / CreateFleet dry", theirs.DryFleet, ours.DryFleet)...)
	out = append(out, compareInstances(scenario+" / CreateFleet dry", byZone(theirs.Dry, another), byZone(ours.Dry, another))...)
	return append(out, Compare(scenario+" / RunInstances dry", ofAnyType(theirs.Run, another), ofAnyType(ours.Run, another))...)
}

// byZone names machines of one type by their zones.
func byZone(instances map[string]Flat, another bool) map[string]Flat {
	out := map[string]Flat{}
	for key, instance := range instances {
		_, zone, _ := strings.Cut(key, "@")
		out[zone] = ofAnyType(instance, another)
	}
	return out
}

// ofAnyType leaves out what depends on the type where it is another.
func ofAnyType(request Flat, another bool) Flat {
	out := maps.Clone(request)
	for name := range request {
		if another && (strings.HasSuffix(name, "InstanceType") || strings.HasSuffix(name, "maxPods") || strings.HasSuffix(name, "max-pods") || strings.HasSuffix(name, "ImageId")) {
			delete(out, name)
		}
	}
	return out
}

func compareInstances(path string, theirs, ours map[string]Flat) []Difference {
	var out []Difference
	reported := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(theirs)) {
		if ours[key] == nil {
			out = append(out, Difference{path + " / machine " + key, "only Karpenter asks for it"})
			continue
		}
		for _, d := range Compare(path, theirs[key], ours[key]) {
			if !reported[d.Where] {
				reported[d.Where] = true
				out = append(out, Difference{d.Where, key + ": " + d.What})
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(ours)) {
		if theirs[key] == nil {
			out = append(out, Difference{path + " / machine " + key, "only we ask for it"})
		}
	}
	return out
}

// Theirs reports whether an exchange is of Karpenter's controller.
func (e Exchange) Theirs() bool { return strings.Contains(e.Who, "/KarpenterController-") }
