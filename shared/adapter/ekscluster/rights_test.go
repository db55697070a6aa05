package ekscluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/kube"
)

// The role of those who end instances has every permission that the port's methods use, and no other. The API server's own log
// tells which they use.
func TestInterruptionRoleHasTheRightsItUsesAndNoOther(t *testing.T) {
	c, name := connectAs(t, collectorRole), unique("rights")
	made, claim := createNode(t, name), launched(name)
	node := model.Object{Name: name, UID: string(made.UID)}
	claim.ObjectUID = put(t, connect(t), claim)
	data := unique("data")
	attach(t, name, data)
	pod, kept := podOn(t, name, "web", uses(data)), podOn(t, name, "kept", nil)
	budget(t, "a", kept.Labels["app"], 0, 1)
	budget(t, "b", kept.Labels["app"], 0, 1)
	claim.State, claim.FailureCode = model.Draining, model.EndedExpired
	claim.Drain = &model.Drain{SinceUnix: claim.LaunchedUnix, DeadlineUnix: claim.LaunchedUnix + 100}

	began := time.Now().Add(-time.Millisecond)
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	_, err := c.ReadLive(t.Context())
	must("look", err)
	_, err = c.Definitions(t.Context())
	must("definitions", err)
	_, err = c.Runs(t.Context(), name)
	must("runs", err)
	_, err = c.ReadNode(t.Context(), node)
	must("occupied", err)
	must("patch", c.PatchNode(t.Context(), model.NodePatch{Name: name, UID: node.UID, Finalizer: true, AddTaints: []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}}))
	must("show", c.UpdateTermination(t.Context(), claim))
	must("evict", c.Evict(t.Context(), refOf(pod)))
	if err := c.Evict(t.Context(), refOf(kept)); !fault.Is(err, fault.Invalid) {
		t.Fatalf("of two budgets: %v", err)
	}
	must("delete", c.Delete(t.Context(), refOf(kept), 5))
	for kind, object := range map[string]model.Object{"Node": node, "NodeClaim": {Name: name, UID: claim.ObjectUID}} {
		must("remove "+kind, c.Remove(t.Context(), kind, object))
		_, err := c.Free(t.Context(), kind, object)
		must("free "+kind, err)
	}
	event := model.Event{Kind: "Node", Name: name, UID: node.UID, Reason: "FailedDraining", Message: "x"}
	must("report", c.Report(t.Context(), model.Report{Events: []model.Event{event}}))
	must("report", connectAs(t, collectorRole).Report(t.Context(), model.Report{Events: []model.Event{event}})) // counted up

	var used []string
	eventually(t, "the audit log has the last request", func() error {
		audit, err := plane(t).Audit(began)
		if err != nil {
			t.Fatal(err)
		}
		if used = audit.By("joiner:interruption").Rights(); !slices.Contains(used, "patch /events") {
			return fmt.Errorf("got %v", used)
		}
		return nil
	})
	role, err := admin(t).RbacV1().ClusterRoles().Get(t.Context(), "joiner-interruption", metav1.GetOptions{})
	must("read the role", err)
	if has := rights(role.Rules); !slices.Equal(has, used) {
		t.Errorf("the role has %v\nused are %v", has, used)
	}
}

// The same of the role of those who decide what to disrupt.
func TestDisruptRoleHasTheRightsItUsesAndNoOther(t *testing.T) {
	c, name := connectAs(t, disruptRole), unique("judge")
	made, claim := createNode(t, name), launched(name)
	node := model.Object{Name: name, UID: string(made.UID)}
	claim.ObjectUID = put(t, connect(t), claim)
	data := unique("data")
	attach(t, name, data)
	podOn(t, name, "web", uses(data))

	began := time.Now().Add(-time.Millisecond)
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	_, err := c.ReadNode(t.Context(), node)
	must("occupied", err)
	_, err = c.PDBs(t.Context())
	must("budgets", err)
	taint := model.Taint{Key: model.TaintDisrupted, Effect: model.NoSchedule}
	must("taint", c.PatchNode(t.Context(), model.NodePatch{Name: name, UID: node.UID, AddTaints: []model.Taint{taint}}))
	must("untaint", c.PatchNode(t.Context(), model.NodePatch{Name: name, UID: node.UID, RemoveTaints: []model.Taint{taint}}))
	event := model.Event{Kind: "Node", Name: name, UID: node.UID, Reason: "DisruptionBlocked", Message: "x"}
	why := model.Condition{Object: name, UID: claim.ObjectUID, Type: model.ConditionDisruptionReason, Status: "True", Reason: model.ReasonEmpty, Message: "x"}
	must("report", c.Report(t.Context(), model.Report{Events: []model.Event{event}, Claims: []model.Condition{why}}))
	must("report", connectAs(t, disruptRole).Report(t.Context(), model.Report{Events: []model.Event{event}})) // counted up

	var used []string
	eventually(t, "the audit log has the last request", func() error {
		audit, err := plane(t).Audit(began)
		if err != nil {
			t.Fatal(err)
		}
		if used = audit.By("joiner:disrupt").Rights(); !slices.Contains(used, "patch /events") {
			return fmt.Errorf("got %v", used)
		}
		return nil
	})
	role, err := admin(t).RbacV1().ClusterRoles().Get(t.Context(), "joiner-disrupt", metav1.GetOptions{})
	must("read the role", err)
	if has := rights(role.Rules); !slices.Equal(has, used) {
		t.Errorf("the role has %v\nused are %v", has, used)
	}
}

// rights spells rules as kube.Audit does.
func rights(rules []rbacv1.PolicyRule) []string {
	var out []string
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					out = append(out, verb+" "+group+"/"+resource)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// What a drain asks for, as the API server saw it: each pod by its UID, none without a grace.
func TestS13S14TheAPIServerSeesUIDsAndGraces(t *testing.T) {
	c, name := connectAs(t, collectorRole), unique("seen")
	createNode(t, name)
	first, second := podOn(t, name, "first", nil), podOn(t, name, "second", nil)
	began := time.Now().Add(-time.Millisecond)
	for _, err := range []error{c.Evict(t.Context(), refOf(first)), c.Delete(t.Context(), refOf(second), 1)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var audit kube.Audit
	eventually(t, "the audit log has both", func() (err error) {
		if audit, err = plane(t).Audit(began); err == nil && len(audit.Evictions())+len(audit.By("joiner:interruption").PodDeletions()) < 2 {
			err = fmt.Errorf("got %v", audit)
		}
		return err
	})
	if got := audit.Evictions(); len(got) != 1 || got[0].Name != first.Name || got[0].UID() != first.UID || !got[0].Done() {
		t.Errorf("evictions %v", got)
	}
	got := audit.By("joiner:interruption").PodDeletions()
	if len(got) != 1 || got[0].Name != second.Name || got[0].UID() != second.UID || got[0].GraceSeconds() == nil || *got[0].GraceSeconds() != 1 {
		t.Errorf("deletions %v", got)
	}
}

// Whoever deletes a pool deletes its claims: the garbage collector does, and our finalizer holds them until their instances
// have ended.
func TestDeletingAPoolDeletesItsClaimsAndTheFinalizerHoldsThem(t *testing.T) {
	c, name := connect(t), unique("cascade")
	apply(t, pool, name)

	claim := launched(name)
	claim.Pool, claim.PoolUID = name, string(readPool(t, c, name).UID)
	claim.ObjectUID = put(t, c, claim)
	adm, err := New(plane(t).Config(), clusterName, "us-west-2")
	if err != nil {
		t.Fatal(err)
	}
	pools := adm.custom.Resource(apiv1.NodePoolResource)
	if err := pools.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	collected := func() error {
		live, err := connectAs(t, collectorRole).ReadLive(t.Context())
		if err != nil {
			return err
		}
		for _, o := range live.Objects {
			if o.Claim.Name == name && o.DeletedUnix != 0 && o.Finalizer {
				return nil
			}
		}
		return fmt.Errorf("it is not being deleted")
	}
	for end := time.Now().Add(90 * time.Second); collected() != nil && time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
	}
	if err := collected(); err != nil {
		t.Fatal(err)
	}
	collector := connectAs(t, collectorRole)
	if _, err := collector.Free(t.Context(), apiv1.KindNodeClaim, model.Object{Name: name, UID: claim.ObjectUID}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.PutClaim(t.Context(), claim); !fault.Is(err, fault.NotFound) {
		t.Errorf("once it is let go of: %v, want NotFound", err)
	}
}
