package requirement

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestLabelKnowsEveryOldName(t *testing.T) {
	for key, names := range oldNames {
		for _, old := range names {
			if got := Normalize(old); got != key {
				t.Errorf("Normalize(%q) = %q, and Label reads it as %q", old, got, key)
			}
			if value, has := Label(map[string]string{old: "x"}, key); value != "x" || !has {
				t.Errorf("Label finds %q, %t of %s under its old name %s", value, has, key, old)
			}
			if value, _ := Label(map[string]string{old: "x", key: "y"}, key); value != "y" {
				t.Errorf("%s counts more than %s", old, key)
			}
		}
	}
	for _, old := range []string{"beta.kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/instance-type",
		"failure-domain.beta.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone", "failure-domain.beta.kubernetes.io/region"} {
		if _, has := Label(map[string]string{old: "x"}, Normalize(old)); !has {
			t.Errorf("Label does not know %s", old)
		}
	}
	if _, has := Label(map[string]string{"app": "x"}, model.LabelZone); has {
		t.Error("Label finds a zone where there is none")
	}
}

func TestNearIsWhatWasLikelyMeant(t *testing.T) {
	known := []string{"us-west-2a", "us-west-2b", "m5.large", "spot", "m5", "arm64"}
	for value, want := range map[string]string{
		"us-west-2x": "us-west-2a", "m5.lrage": "m5.large", "spto": "", "spott": "spot", "SPOT": "spot", "m6": "", "arm46": "arm64", "spot": "", "": "",
		"eu-north-1a": "", "M5": "m5",
	} {
		if got := Nearest(value, known); got != want {
			t.Errorf("Near(%q) = %q, want %q", value, got, want)
		}
	}
}
