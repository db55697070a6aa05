package referee

import (
	"net/url"
	"strings"
	"testing"
)

func TestRowsAreReadByTopic(t *testing.T) {
	rows, err := parseRows("# Title\n\n| topic | where | why |\n|---|---|---|\n| launch | a / * | since |\n| rights | b | since |\n", "launch")
	if err != nil || len(rows) != 1 || rows[0].where != "a / *" {
		t.Errorf("got %+v, %v", rows, err)
	}
	for _, broken := range []string{"| a | b |", "| launch | | since |", "| launch | a | |"} {
		if _, err := parseRows("\n"+broken, "launch"); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: got %v, want an error that names line 2", broken, err)
		}
	}
}

// A difference nobody knows fails, and so does a row that nothing differs by.
func TestUnknownDifferencesAndIdleRowsAreWrong(t *testing.T) {
	document := "| launch | spot / * / Tag / x: * | since |\n| launch | gone: * | since |\n| launch | not yet: * | until it is there |\n"
	rows, err := parseRows(document, "launch")
	if err != nil {
		t.Fatal(err)
	}
	wrong := settle(rows, []Difference{{"spot / Fleet / Tag / x", `theirs "1", ours "2"`}, {"spot / Fleet / Tag / y", "theirs has none"}})
	if len(wrong) != 2 || !strings.Contains(wrong[0], "spot / Fleet / Tag / y") || !strings.Contains(wrong[1], `"gone: *"`) {
		t.Errorf("wrong: %q", wrong)
	}
}

func TestStarsFitAnyText(t *testing.T) {
	for pattern, texts := range map[string]map[string]bool{
		"a":       {"a": true, "ab": false, "": false},
		"a*":      {"a": true, "ab": true, "ba": false},
		"*b":      {"b": true, "ab": true, "ba": false},
		"a*b*c":   {"abc": true, "axbyc": true, "acb": false, "ac": false},
		"*: x *y": {"w: x y": true, "w: x zy": true, "w: xy": false},
		"a*a":     {"a": false, "aa": true},
	} {
		for text, want := range texts {
			if got := fits(pattern, text); got != want {
				t.Errorf("fits(%q, %q) = %v", pattern, text, got)
			}
		}
	}
}

// Requests that say the same in another order are flat alike.
func TestRequestsAreFlatWhateverTheirOrder(t *testing.T) {
	read := func(text string) Flat {
		form, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		return Flatten(form)
	}
	one := read("Action=A&Version=1&TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=a&TagSpecification.1.Tag.1.Value=1&TagSpecification.1.Tag.2.Key=b&TagSpecification.1.Tag.2.Value=" +
		"&Group.1=x&Group.2=y&NetworkInterface.1.DeviceIndex=0&NetworkInterface.1.SubnetId=s")
	other := read("NetworkInterface.1.SubnetId=s&NetworkInterface.1.DeviceIndex=0&NetworkInterface.1.NetworkCardIndex=0&Group.1=y&Group.2=x&TagSpecification.1.Tag.2.Key=a&TagSpecification.1.Tag.2.Value=1&TagSpecification.1.Tag.1.Key=b&TagSpecification.1.Tag.1.Value=" +
		"&TagSpecification.1.ResourceType=instance")
	if d := Compare("", one, other); len(d) != 0 {
		t.Errorf("differences: %v", d)
	}
	if one["TagSpecification / instance / Tag / a"] != "1" || one["Group / x"] != "listed" || one["NetworkInterface / card 0 device 0 / SubnetId"] != "s" {
		t.Errorf("got %v", one)
	}
	if d := Compare("r", one, Flat{}); len(d) != len(one) {
		t.Errorf("%d differences from nothing, want %d", len(d), len(one))
	}
}

func TestUserDataIsReadSettingBySetting(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want Flat
	}{
		"NodeConfig": {"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"x\"\n\n--x\nContent-Type: application/node.eks.aws\n\nspec:\n  kubelet:\n    config: {maxPods: 29, registerWithTaints: [{key: t, value: v, effect: NoExecute}]}\n    flags: ['--node-labels=\"a=1,b=2\"']\n\n--x--\n",
			Flat{"NodeConfig 1 / spec / kubelet / config / maxPods": "29", "NodeConfig 1 / spec / kubelet / config / registerWithTaints / t": "v:NoExecute",
				"NodeConfig 1 / spec / kubelet / flags / --node-labels / a": "1", "NodeConfig 1 / spec / kubelet / flags / --node-labels / b": "2"}},
		"Bottlerocket": {"[settings.kubernetes]\nmax-pods = 29\n", Flat{"settings / kubernetes / max-pods": "29"}},
		"Windows": {"<powershell>\n& $x -EKSClusterName 'c' -KubeletExtraArgs '--node-labels=\"a=1\" --max-pods=5'\n</powershell>",
			Flat{"-EKSClusterName": "c", "-KubeletExtraArgs / --node-labels / a": "1", "-KubeletExtraArgs / --max-pods": "5", "around": "<powershell>\n</powershell>"}},
		"a script": {"#!/bin/sh\nx", Flat{"text": "#!/bin/sh\nx"}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := Compare("", tt.want, ReadUserData(tt.text)); len(d) != 0 {
				t.Errorf("got %v", d)
			}
		})
	}
}
