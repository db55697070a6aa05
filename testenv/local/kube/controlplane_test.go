package kube_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/joiner-sh/joiner/testenv/local/kube"
)

func TestServerIsTheVersionBuilt(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") != "" {
		t.Log("KUBEBUILDER_ASSETS is set: any version will do")
		return
	}
	version, err := clientFor(t, plane.Config()).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.GitVersion != kube.KubernetesVersion() {
		t.Errorf("the server says it is %s, want %s", version.GitVersion, kube.KubernetesVersion())
	}
}

func TestUnknownUserIsDenied(t *testing.T) {
	stranger, err := plane.User("stranger", "nobodies")
	if err != nil {
		t.Fatal(err)
	}
	_, err = clientFor(t, stranger).CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("listing pods as a user without a role: got %v, want Forbidden", err)
	}

	anonymous := &rest.Config{Host: plane.Endpoint(), TLSClientConfig: rest.TLSClientConfig{CAData: plane.CertificateAuthority()}}
	_, err = clientFor(t, anonymous).CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		t.Errorf("listing pods as nobody: got %v, want a refusal", err)
	}
}

func TestUserMayDoWhatItsGroupMay(t *testing.T) {
	admin := clientFor(t, plane.Config())
	role := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "viewers"},
		Subjects:   []rbacv1.Subject{{Kind: "Group", Name: "viewers", APIGroup: rbacv1.GroupName}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
	}
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	viewer, err := plane.User("vera", "viewers")
	if err != nil {
		t.Fatal(err)
	}
	client := clientFor(t, viewer)
	eventually(t, "the binding to count", func() (bool, string) {
		_, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		return err == nil, errorText(err)
	})
	err = client.CoreV1().Namespaces().Delete(t.Context(), "default", metav1.DeleteOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("deleting a namespace with the view role: got %v, want Forbidden", err)
	}
}

func TestClusterHasTheServicesOfEKS(t *testing.T) {
	client := clientFor(t, plane.Config())
	for _, want := range []struct{ namespace, name, ip string }{
		{"kube-system", "kube-dns", "10.96.0.10"},
		{"default", "kubernetes", "10.96.0.1"},
	} {
		eventually(t, want.name, func() (bool, string) {
			service, err := client.CoreV1().Services(want.namespace).Get(t.Context(), want.name, metav1.GetOptions{})
			if err != nil {
				return false, errorText(err)
			}
			return service.Spec.ClusterIP == want.ip, "its address is " + service.Spec.ClusterIP
		})
	}
}

func TestDeploymentWithoutNodesLeavesPodsUnschedulable(t *testing.T) {
	client := clientFor(t, plane.Config())
	if err := plane.Apply(t.Context(), readFile(t, "testdata/deployment.yaml")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "three unschedulable pods", func() (bool, string) {
		pods, err := client.CoreV1().Pods("apply").List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
		if err != nil {
			return false, errorText(err)
		}
		unschedulable := 0
		for _, pod := range pods.Items {
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
					unschedulable++
				}
			}
		}
		return unschedulable == 3, describe(pods.Items)
	})
}

func TestOwnedObjectsAreCollected(t *testing.T) {
	client := clientFor(t, plane.Config())
	const namespace = "collect"
	createNamespace(t, client, namespace)
	replicas := int32(1)
	labels := map[string]string{"app": "gone"}
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "gone"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example/c"}}},
			},
		},
	}
	if _, err := client.AppsV1().ReplicaSets(namespace).Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	count := func() int {
		pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return len(pods.Items)
	}
	eventually(t, "the pod", func() (bool, string) { return count() == 1, "absent" })
	background := metav1.DeletePropagationBackground
	err := client.AppsV1().ReplicaSets(namespace).Delete(t.Context(), "gone", metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod's end", func() (bool, string) { return count() == 0, "still there" })
}

func TestAuditLogTellsWhoDidWhat(t *testing.T) {
	client := clientFor(t, plane.Config())
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "audited"}}
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the audit event", func() (bool, string) {
		log, err := os.ReadFile(plane.AuditLogPath())
		if err != nil {
			return false, errorText(err)
		}
		for line := range bytes.Lines(log) {
			var event struct {
				Verb      string
				User      struct{ Username string }
				ObjectRef struct{ Name string }
			}
			if json.Unmarshal(line, &event) == nil && event.Verb == "create" && event.ObjectRef.Name == "audited" {
				return event.User.Username == "kubernetes-admin", "user is " + event.User.Username
			}
		}
		return false, "no such line"
	})
}

func TestKubectlWorksWithTheKubeconfig(t *testing.T) {
	if plane.Assets().Kubectl == "" {
		t.Fatal("no kubectl")
	}
	out, err := exec.CommandContext(t.Context(), plane.Assets().Kubectl,
		"--kubeconfig", plane.KubeconfigPath(), "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}").CombinedOutput()
	if err != nil || string(out) != "kubernetes-admin" {
		t.Errorf("kubectl auth whoami: %v: %s", err, out)
	}
}

func TestProcessesAreAllRunning(t *testing.T) {
	var names []string
	for _, p := range plane.Processes() {
		names = append(names, p.Name())
		if p.Err() != nil {
			t.Errorf("%s has ended: %v", p.Name(), p.Err())
		}
		if _, err := os.Stat(filepath.Join(plane.LogDir(), p.Name()+".log")); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(names, " "); got != "etcd kube-apiserver kube-controller-manager kube-scheduler" {
		t.Errorf("processes are %s", got)
	}
}

func TestStartTellsWhyAPartGaveUp(t *testing.T) {
	dir := t.TempDir()
	_, err := kube.Start(t.Context(), kube.Options{
		Assets: plane.Assets(), Dir: dir, APIServerArgs: []string{"--authorization-mode=Nonsense"},
	})
	if err == nil {
		t.Fatal("started with a nonsensical flag")
	}
	for _, want := range []string{"kube-apiserver", "Nonsense"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
	left, globErr := filepath.Glob(filepath.Join(dir, "*"))
	if globErr != nil {
		t.Fatal(globErr)
	}
	if len(left) != 1 || filepath.Base(left[0]) != "logs" {
		t.Errorf("left behind: %v, want the logs alone", left)
	}
}

func TestStartGivesUpWhenItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := kube.Start(ctx, kube.Options{Assets: plane.Assets()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context canceled", err)
	}
}

func clientFor(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func createNamespace(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the default service account", func() (bool, string) {
		_, err := client.CoreV1().ServiceAccounts(name).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil, errorText(err)
	})
}

// eventually asks until f is true, and fails with what it last said.
func eventually(t *testing.T, what string, f func() (ok bool, state string)) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		ok, state := f()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited a minute for %s: %s", what, state)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func describe(pods []corev1.Pod) string {
	var s strings.Builder
	for _, pod := range pods {
		s.WriteString(pod.Name + " " + string(pod.Status.Phase) + "; ")
	}
	return s.String()
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
