package ebscsi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8stypes "k8s.io/apimachinery/pkg/types"

	"github.com/joiner-sh/joiner/testenv/local/ebscsi"
	"github.com/joiner-sh/joiner/testenv/local/machine"
)

// class makes a StorageClass of the driver.
func class(t *testing.T, name string, mode storagev1.VolumeBindingMode, change func(*storagev1.StorageClass)) {
	t.Helper()
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: ebscsi.Name, VolumeBindingMode: &mode}
	if change != nil {
		change(c)
	}
	if _, err := client.StorageV1().StorageClasses().Create(t.Context(), c, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func claimSpec(class string) corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("3500Mi")}},
	}
}

func claim(t *testing.T, name, class string) {
	t.Helper()
	_, err := client.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: claimSpec(class)}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// pod makes a pod on a node with one volume, which it mounts.
func pod(t *testing.T, name, node string, source corev1.VolumeSource) {
	t.Helper()
	_, err := client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{corev1.LabelHostname: node},
			Volumes:      []corev1.Volume{{Name: "data", VolumeSource: source}},
			Containers:   []corev1.Container{{Name: "main", Image: "example/main", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func ofClaim(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

func awaitRunning(t *testing.T, name string) {
	t.Helper()
	eventually(t, "pod "+name, func() (bool, string) {
		p, err := client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && p.Status.Phase == corev1.PodRunning, fmt.Sprintf("%v on %q %+v %v", p.Status.Phase, p.Spec.NodeName, p.Status.Conditions, err)
	})
}

// bound waits until a claim is bound and returns its PersistentVolume.
func bound(t *testing.T, claim string) *corev1.PersistentVolume {
	t.Helper()
	name := ""
	eventually(t, "claim "+claim, func() (bool, string) {
		c, err := client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), claim, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		name = c.Spec.VolumeName
		events, _ := client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + claim})
		var said []string
		for _, e := range events.Items {
			said = append(said, e.Reason+": "+e.Message)
		}
		return c.Status.Phase == corev1.ClaimBound, strings.Join(said, "; ")
	})
	volume, err := client.CoreV1().PersistentVolumes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return volume
}

// inEC2 returns the volume that EC2 has under a handle; nil where there is none.
func inEC2(t *testing.T, id string) *types.Volume {
	t.Helper()
	out, err := cloud.DescribeVolumes(t.Context(), &sdk.DescribeVolumesInput{Filters: []types.Filter{{Name: new("volume-id"), Values: []string{id}}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Volumes) == 0 {
		return nil
	}
	return &out.Volumes[0]
}

// remove deletes a pod and a claim.
func remove(t *testing.T, pod, claim string) {
	t.Helper()
	var errs []error
	if pod != "" {
		errs = append(errs, client.CoreV1().Pods("default").Delete(t.Context(), pod, metav1.DeleteOptions{}))
	}
	if claim != "" {
		errs = append(errs, client.CoreV1().PersistentVolumeClaims("default").Delete(t.Context(), claim, metav1.DeleteOptions{}))
	}
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// awaitEnd waits until a PersistentVolume is gone, and its volume from EC2.
func awaitEnd(t *testing.T, volume *corev1.PersistentVolume) {
	t.Helper()
	eventually(t, "the end of "+volume.Name, func() (bool, string) {
		is, err := client.CoreV1().PersistentVolumes().Get(t.Context(), volume.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprintf("%v %+v", err, is)
	})
	if v := inEC2(t, volume.Spec.CSI.VolumeHandle); v != nil {
		t.Errorf("EC2 still has %+v", v)
	}
}

func TestDriverIsRegisteredWhereItsPodsRun(t *testing.T) {
	id, node := launch(t, "a")
	var is *storagev1.CSINode
	limit := func(want int32) {
		t.Helper()
		eventually(t, fmt.Sprintf("a limit of %d volumes", want), func() (bool, string) {
			var err error
			is, err = client.StorageV1().CSINodes().Get(t.Context(), node, metav1.GetOptions{})
			return err == nil && len(is.Spec.Drivers) == 1 && *is.Spec.Drivers[0].Allocatable.Count == want, fmt.Sprintf("%v %+v", err, is)
		})
	}
	limit(26) // 27 less the root; the first interface does not count
	n, err := client.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := is.Spec.Drivers[0]
	if d.Name != "ebs.csi.aws.com" || d.NodeID != id || !slices.Contains(d.TopologyKeys, ebscsi.ZoneLabel) || is.OwnerReferences[0].UID != n.UID {
		t.Errorf("CSINode %+v", is)
	}
	if n.Labels[ebscsi.ZoneLabel] != "us-west-2a" {
		t.Errorf("the node has the labels %v", n.Labels)
	}
	restart := func(args ...string) {
		t.Helper()
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []map[string]any{{"name": "ebs-plugin", "args": args}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.AppsV1().DaemonSets("kube-system").Patch(t.Context(), "ebs-csi-node", k8stypes.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	restart("node", "--volume-attach-limit=1")
	limit(1)
	restart("node")
	limit(26)
}

func TestVolumeIsMadeWhereItsPodIsScheduledAndEndsWithItsClaim(t *testing.T) {
	id, node := launch(t, "b")
	class(t, "late", storagev1.VolumeBindingWaitForFirstConsumer, func(c *storagev1.StorageClass) {
		c.Parameters = map[string]string{"type": "io2", "iops": "4000", "encrypted": "true", "csi.storage.k8s.io/fstype": "xfs"}
		c.MountOptions = []string{"noatime"}
	})
	claim(t, "late", "late")
	time.Sleep(time.Second)
	if c, err := client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), "late", metav1.GetOptions{}); err != nil || c.Status.Phase != corev1.ClaimPending {
		t.Fatalf("before there is a pod the claim is %+v %v", c, err)
	}
	pod(t, "late", node, ofClaim("late"))
	volume := bound(t, "late")
	awaitRunning(t, "late")
	spec := volume.Spec
	if spec.CSI.Driver != ebscsi.Name || spec.CSI.FSType != "xfs" || !slices.Equal(spec.MountOptions, []string{"noatime"}) || spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		t.Errorf("PersistentVolume %+v", spec)
	}
	if size := spec.Capacity[corev1.ResourceStorage]; size.String() != "4Gi" {
		t.Errorf("it has %s, want the claim's 3500Mi rounded up", size.String())
	}
	terms := spec.NodeAffinity.Required.NodeSelectorTerms
	if len(terms) != 1 || len(terms[0].MatchExpressions) != 1 || terms[0].MatchExpressions[0].Key != "topology.kubernetes.io/zone" || !slices.Equal(terms[0].MatchExpressions[0].Values, []string{"us-west-2b"}) {
		t.Errorf("it is bound to %+v", terms)
	}
	if !slices.Contains(volume.Finalizers, "external-provisioner.volume.kubernetes.io/finalizer") || volume.Annotations["pv.kubernetes.io/provisioned-by"] != ebscsi.Name {
		t.Errorf("finalizers %v, annotations %v", volume.Finalizers, volume.Annotations)
	}
	v := inEC2(t, spec.CSI.VolumeHandle)
	if v == nil || *v.AvailabilityZone != "us-west-2b" || *v.Size != 4 || v.VolumeType != "io2" || *v.Iops != 4000 || !*v.Encrypted || v.State != "in-use" || *v.Attachments[0].InstanceId != id {
		t.Fatalf("in EC2 it is %+v", v)
	}
	tags := map[string]string{}
	for _, tag := range v.Tags {
		tags[*tag.Key] = *tag.Value
	}
	if want := map[string]string{
		"CSIVolumeName": volume.Name, "ebs.csi.aws.com/cluster": "true", "ebs.csi.aws.com/cluster-name": clusterName, "KubernetesCluster": clusterName,
		"kubernetes.io/cluster/" + clusterName: "owned", "Name": clusterName + "-dynamic-" + volume.Name, "kubernetes.io/created-for/pv/name": volume.Name,
		"kubernetes.io/created-for/pvc/name": "late", "kubernetes.io/created-for/pvc/namespace": "default",
	}; !maps.Equal(tags, want) {
		t.Errorf("it has the tags %v, want %v", tags, want)
	}
	remove(t, "late", "late")
	awaitEnd(t, volume)
}

func TestImmediateClaimGetsAVolumeOfAnAllowedZone(t *testing.T) {
	launch(t, "a")
	retain := corev1.PersistentVolumeReclaimRetain
	class(t, "immediate", storagev1.VolumeBindingImmediate, func(c *storagev1.StorageClass) {
		c.ReclaimPolicy = &retain
		c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: ebscsi.ZoneLabel, Values: []string{"us-west-2c"}}}}}
	})
	claim(t, "immediate", "immediate")
	volume := bound(t, "immediate")
	handle := volume.Spec.CSI.VolumeHandle
	if v := inEC2(t, handle); v == nil || *v.AvailabilityZone != "us-west-2c" || v.VolumeType != "gp3" || v.State != "available" {
		t.Errorf("in EC2 it is %+v", v)
	}
	remove(t, "", "immediate")
	eventually(t, "the volume is released", func() (bool, string) {
		is, err := client.CoreV1().PersistentVolumes().Get(t.Context(), volume.Name, metav1.GetOptions{})
		return err == nil && is.Status.Phase == corev1.VolumeReleased, fmt.Sprint(is, err)
	})
	if inEC2(t, handle) == nil {
		t.Error("a volume that is to be kept is gone from EC2")
	}
	if err := client.CoreV1().PersistentVolumes().Delete(t.Context(), volume.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Where no zone is allowed in particular, an immediate claim gets one where there is a node.
// awaitFailure waits for an event that says why a claim has no volume. It may not be the first: the controller of volumes says
// so, too, while it does not know the class yet.
func awaitFailure(t *testing.T, claim, why string) {
	t.Helper()
	only := metav1.ListOptions{FieldSelector: "involvedObject.name=" + claim + ",reason=ProvisioningFailed"}
	eventually(t, "an event that says why there is no volume", func() (bool, string) {
		events, err := client.CoreV1().Events("default").List(t.Context(), only)
		found := err == nil && slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return strings.Contains(e.Message, why)
		})
		return found, fmt.Sprint(events, err)
	})
}

func TestImmediateClaimGetsAVolumeWhereNodesAre(t *testing.T) {
	eventually(t, "the nodes of other tests are gone", func() (bool, string) {
		nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		return err == nil && len(nodes.Items) == 0, fmt.Sprint(nodes, err)
	})
	class(t, "anywhere", storagev1.VolumeBindingImmediate, nil)
	claim(t, "anywhere", "anywhere")
	awaitFailure(t, "anywhere", "no available topology found")
	launch(t, "c")
	volume := bound(t, "anywhere")
	if v := inEC2(t, volume.Spec.CSI.VolumeHandle); v == nil || *v.AvailabilityZone != "us-west-2c" {
		t.Errorf("in EC2 it is %+v", v)
	}
	remove(t, "", "anywhere")
	awaitEnd(t, volume)
}

func TestClassThatIsNotModeledIsReported(t *testing.T) {
	class(t, "odd", storagev1.VolumeBindingImmediate, func(c *storagev1.StorageClass) { c.Parameters = map[string]string{"blockSize": "4096"} })
	claim(t, "odd", "odd")
	awaitFailure(t, "odd", "blockSize")
	remove(t, "", "odd")
}

func TestGenericEphemeralVolumeEndsWithItsPod(t *testing.T) {
	_, node := launch(t, "a")
	class(t, "ephemeral", storagev1.VolumeBindingWaitForFirstConsumer, nil)
	pod(t, "brief", node, corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claimSpec("ephemeral")}}})
	awaitRunning(t, "brief")
	volume := bound(t, "brief-data")
	remove(t, "brief", "")
	awaitEnd(t, volume)
}

// A pod waits for the volume that it mounts. Where its node goes, it gets the volume on another node once it is detached from the first.
func TestPodWaitsForTheVolumeItMounts(t *testing.T) {
	_, node := launch(t, "a")
	class(t, "awaited", storagev1.VolumeBindingWaitForFirstConsumer, nil)
	claim(t, "awaited", "awaited")
	driver.SetDelays(machine.Never, 0)
	defer driver.SetDelays(0, 0)
	pod(t, "awaited", node, ofClaim("awaited"))
	volume := bound(t, "awaited")
	time.Sleep(2 * time.Second)
	p, err := client.CoreV1().Pods("default").Get(t.Context(), "awaited", metav1.GetOptions{})
	if err != nil || p.Spec.NodeName != node || p.Status.Phase != corev1.PodPending {
		t.Fatalf("a pod whose volume is not attached is %s on %q: %v", p.Status.Phase, p.Spec.NodeName, err)
	}
	driver.SetDelays(0, machine.Never)
	awaitRunning(t, "awaited")
	other, second := launch(t, "a")
	remove(t, "awaited", "")
	eventually(t, "the end of the pod", func() (bool, string) {
		_, err := client.CoreV1().Pods("default").Get(t.Context(), "awaited", metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	pod(t, "awaited", second, ofClaim("awaited"))
	time.Sleep(2 * time.Second)
	if p, err = client.CoreV1().Pods("default").Get(t.Context(), "awaited", metav1.GetOptions{}); err != nil || p.Status.Phase != corev1.PodPending {
		t.Fatalf("a pod whose volume is attached elsewhere is %s: %v", p.Status.Phase, err)
	}
	driver.SetDelays(0, 0)
	awaitRunning(t, "awaited")
	if v := inEC2(t, volume.Spec.CSI.VolumeHandle); v == nil || v.State != "in-use" || *v.Attachments[0].InstanceId != other {
		t.Errorf("in EC2 it is %+v, want it attached to %s", v, other)
	}
	remove(t, "awaited", "awaited")
	awaitEnd(t, volume)
}
