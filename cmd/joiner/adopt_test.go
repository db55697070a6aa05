package main

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/apiserver"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/attach"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/installation"
)

func TestAdoptRefusesACommandLineThatSaysTooLittle(t *testing.T) {
	t.Setenv("JOINER_TABLE", "")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	for want, args := range map[string][]string{
		"--region: no AWS":                       {"adopt", "shop"},
		"--region":                               {"adopt", "shop", "--table", "t"},
		"--dry-run":                              {"adopt", "shop", "--table", "t", "--yes", "--dry-run"},
		"name the cluster: joiner adopt CLUSTER": {"adopt", "--table", "t"},
		"must be table or j":                     {"adopt", "shop", "--table", "t", "-o", "wide"},
	} {
		if code, out, errs := joiner("", args...); code != 2 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%v: exit status %d, %q, %q", args, code, out, errs)
		}
	}
}

// TestA4AdoptNamesReleasesThatTakeDefinitionsAway: a release of Helm's that lists definitions is named with what has Helm forget it;
// where nobody may look, that is said with who can; where there is none nothing is.
func TestA4AdoptNamesReleasesThatTakeDefinitionsAway(t *testing.T) {
	a := newAccount(t)
	if code, _, errs := joiner("", "attach", "shop"); code != 0 {
		t.Fatalf("attach: exit status %d, %s", code, errs)
	}
	reach := &apiserver.Flags{OwnRights: true}
	at, err := (&installation.Flags{}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := attach.HelmTraps(t.Context(), at, reach, "shop"); len(got) > 0 {
		t.Errorf("nothing is there, and it warns of %q", got)
	}
	back := a.objects.list("/api/v1/secrets", "v1", "SecretList", helmSecret(t, "kube-system", "karpenter-crd", karpenterCRD(false)))
	got := attach.HelmTraps(t.Context(), at, reach, "shop")
	back()
	if len(got) != 1 || !strings.Contains(got[0], "helm uninstall karpenter-crd would delete the CustomResourceDefinitions") || !strings.Contains(got[0], "kubectl delete secret -n kube-system -l owner=helm,name=karpenter-crd") {
		t.Errorf("%q", got)
	}
	defer a.objects.without("/api/v1/secrets", nil)()
	if got := attach.HelmTraps(t.Context(), at, reach, "shop"); len(got) != 1 || !strings.Contains(got[0], "is unknown (") || !strings.Contains(got[0], "joiner doctor shop --kubeconfig FILE") {
		t.Errorf("%q", got)
	}
}
