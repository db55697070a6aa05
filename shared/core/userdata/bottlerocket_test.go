package userdata

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/joiner-sh/joiner/shared/model"
)

const settings = `
# comments are not kept
[settings.kubernetes]
api-server = "https://other"
cloud-provider = "external"
max-pods = 5
allowed-unsafe-sysctls = ["net.core.*"]
[settings.kubernetes.node-labels]
"team" = "theirs"
"own" = "kept"
[settings.kubernetes.node-taints]
"theirs" = ["a:NoSchedule"]
[settings.bootstrap-commands.other]
commands = [["apiclient", "get"]]
mode = "once"
[settings.kernel.sysctl]
"vm.max_map_count" = "262144"
[settings.ntp]
time-servers = ["169.254.169.123"]
since = 1979-05-27T07:32:00Z
share = 0.5
`

// UD-04: sections of the user's stay, labels are merged with ours on top, taints and the number of pods are ours.
func TestUD04SettingsAreMerged(t *testing.T) {
	d := read(t, "Bottlerocket", render(t, of("Bottlerocket", func(in *Input) { in.Class.UserData, in.Class.InstanceStorePolicy = settings, "RAID0" })))
	if d.endpoint != "https://web.example" || d.maxPods != "58" {
		t.Errorf("got endpoint %s, %s pods", d.endpoint, d.maxPods)
	}
	if d.labels["team"] != "a" || d.labels["own"] != "kept" || d.labels[model.LabelNodePool] != "default" {
		t.Errorf("labels %v", d.labels)
	}
	for _, taint := range d.taints {
		if strings.HasPrefix(taint, "theirs") {
			t.Errorf("taints %v", d.taints)
		}
	}
	kubernetes := d.settings["kubernetes"].(map[string]any)
	if kubernetes["cloud-provider"] != "external" || fmt.Sprint(kubernetes["allowed-unsafe-sysctls"]) != "[net.core.*]" {
		t.Errorf("settings of the user's are gone: %v", kubernetes)
	}
	var before struct {
		Settings map[string]any `toml:"settings"`
	}
	if err := toml.Unmarshal([]byte(settings), &before); err != nil {
		t.Fatal(err)
	}
	for _, section := range []string{"kernel", "ntp"} {
		if fmt.Sprint(d.settings[section]) != fmt.Sprint(before.Settings[section]) {
			t.Errorf("%s was %v and is %v", section, before.Settings[section], d.settings[section])
		}
	}
	commands := d.settings["bootstrap-commands"].(map[string]any)
	if len(commands) != 2 || fmt.Sprint(commands["other"]) != "map[commands:[[apiclient get]] mode:once]" {
		t.Errorf("commands %v", commands)
	}
}

// UD-04: releases that know what belongs onto the array are left to it, others are set to.
func TestUD04ArrayIsBoundAsTheReleaseNeeds(t *testing.T) {
	const reported, left = " --dirs /var/lib/containerd /var/lib/kubelet /var/log/pods", ""
	name := func(version string) string { return "bottlerocket-aws-k8s-1.36-x86_64-v" + version + "-abcdef01" }
	term := func(t model.SelectorTerm) []model.SelectorTerm { return []model.SelectorTerm{t} }
	cases := map[string]struct {
		edit func(*Input)
		want string
	}{
		"nothing known":              {nil, reported},
		"latest":                     {func(in *Input) { in.Class.Images = term(model.SelectorTerm{Alias: "bottlerocket@latest"}) }, left},
		"alias 1.45.0":               {func(in *Input) { in.Class.Images = term(model.SelectorTerm{Alias: "bottlerocket@1.45.0"}) }, reported},
		"alias v1.46.0":              {func(in *Input) { in.Class.Images = term(model.SelectorTerm{Alias: "bottlerocket@v1.46.0"}) }, left},
		"alias 1.46.0":               {func(in *Input) { in.Class.Images = term(model.SelectorTerm{Alias: "bottlerocket@1.46.0"}) }, left},
		"alias 1.100.0":              {func(in *Input) { in.Class.Images = term(model.SelectorTerm{Alias: "bottlerocket@1.100.0"}) }, left},
		"alias 2.0.0":                {func(in *Input) { in.Class.Images = term(model.SelectorTerm{Alias: "bottlerocket@2.0.0"}) }, left},
		"name of a term, old":        {func(in *Input) { in.Class.Images = term(model.SelectorTerm{Name: name("1.45.9")}) }, reported},
		"name of a term, new":        {func(in *Input) { in.Class.Images = term(model.SelectorTerm{Name: name("1.50.0")}) }, left},
		"name of a term, no version": {func(in *Input) { in.Class.Images = term(model.SelectorTerm{Name: "bottlerocket-aws-k8s-1.36-*"}) }, reported},
		"the image that boots, old":  {func(in *Input) { in.ImageName = name("1.45.0") }, reported},
		"the image that boots, new":  {func(in *Input) { in.ImageName = name("1.46.0") }, left},
		"the image before the alias": {func(in *Input) {
			in.ImageName, in.Class.Images = name("1.40.0"), term(model.SelectorTerm{Alias: "bottlerocket@latest"})
		}, reported},
		"an image's name that is not": {func(in *Input) { in.ImageName = "golden-v1.46" }, reported},
		"image by id": {func(in *Input) {
			in.Class.Images = term(model.SelectorTerm{ID: "ami-2"})
			in.Class.Status.Images = []model.Image{{ID: "ami-1", Name: name("1.30.0")}, {ID: "ami-2", Name: name("1.46.0")}}
		}, left},
		"any image, the oldest counts": {func(in *Input) {
			in.Class.Images = term(model.SelectorTerm{Tags: map[string]string{"a": "b"}})
			in.Class.Status.Images = []model.Image{{ID: "ami-1", Name: name("1.50.0")}, {ID: "ami-2", Name: name("1.30.0")}}
		}, reported},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := read(t, "Bottlerocket", render(t, of("Bottlerocket", func(in *Input) {
				in.Class.InstanceStorePolicy = "RAID0"
				if c.edit != nil {
					c.edit(in)
				}
			})))
			command := d.settings["bootstrap-commands"].(map[string]any)["000-mount-instance-storage"].(map[string]any)
			want := "[[apiclient ephemeral-storage init] [apiclient ephemeral-storage bind" + c.want + "]]"
			if fmt.Sprint(command["commands"]) != want || command["mode"] != "always" || command["essential"] != true {
				t.Errorf("got %v, want %s", command, want)
			}
		})
	}
}

// What says nothing is no reason to refuse a class.
func TestKubeletFieldsThatSayNothingAreLeftOut(t *testing.T) {
	for _, family := range []string{"AL2", "Bottlerocket", "Windows2022"} {
		plain := render(t, of(family, nil))
		got := render(t, of(family, func(in *Input) {
			in.Class.Kubelet.JSON = `{"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration","podsPerCore":0,"maxPods":0}`
		}))
		if got != plain {
			t.Errorf("%s: got\n%s\nwant\n%s", family, got, plain)
		}
	}
}

func FuzzBottlerocket(f *testing.F) {
	f.Add(settings)
	f.Add("settings.kubernetes.node-labels.\"a\\nb\" = \"]\\n[settings.kubernetes]\\ncluster-name='evil'\"")
	f.Add("[[settings.x]]\na = '''\n[settings.kubernetes]\nmax-pods = 1\n'''\nb = {c = 1e300}\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Render(of("Bottlerocket", func(in *Input) { in.Class.UserData = text }))
		if err != nil {
			return
		}
		d := read(t, "Bottlerocket", string(got))
		if d.cluster != "web" || d.maxPods != "58" || len(d.taints) != 2 || d.labels["team"] != "a" {
			t.Fatalf("the machine is told %+v", d)
		}
		var before, after map[string]any
		if err := toml.Unmarshal([]byte(text), &before); err != nil {
			t.Fatal(err)
		}
		if err := toml.Unmarshal(got, &after); err != nil {
			t.Fatal(err)
		}
		if theirs, ok := before["settings"].(map[string]any); ok {
			delete(theirs, "kubernetes")
			before["settings"] = theirs
		} else {
			before["settings"] = map[string]any{}
		}
		delete(after["settings"].(map[string]any), "kubernetes")
		if fmt.Sprint(before) != fmt.Sprint(after) {
			t.Fatalf("the user's settings were %v and are %v", before, after)
		}
	})
}
