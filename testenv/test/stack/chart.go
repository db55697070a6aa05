package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/testenv/test/helm"
)

// What the chart makes is called so, and the watcher's access to AWS hangs on it.
const (
	chartNamespace = "joiner"
	watcherAccount = "joiner-watcher"
)

// install installs the chart in a cluster, as people do, with what the region's stack says of itself. Watchers run as processes
// with the identity and the settings of the chart's Deployment, which has no replicas: nobody would run their containers.
func (s *Stack) install(ctx context.Context, c *Cluster) error {
	release := helm.Release{Helm: c.Kube.Assets().Helm, Kubeconfig: c.Kube.KubeconfigPath(), Namespace: chartNamespace}
	values, err := s.values(ctx, c)
	if err != nil {
		return err
	}
	if err := release.Install(ctx, values); err != nil {
		return fmt.Errorf("install the chart in cluster %s: %w", c.Name, err)
	}
	return c.ReadWatcher(ctx)
}

// ReadWatcher takes from the chart's Deployment, which whoever installed the chart has made, what watchers of the cluster are started with.
func (c *Cluster) ReadWatcher(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.Kube.Config())
	if err != nil {
		return err
	}
	watcher, err := client.AppsV1().Deployments(chartNamespace).Get(ctx, "joiner-watcher", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the watcher's settings in cluster %s: %w", c.Name, err)
	}
	folders, err := c.mounts(ctx, client, watcher.Spec.Template.Spec)
	if err != nil {
		return err
	}
	c.watcherEnv = nil
	for _, e := range watcher.Spec.Template.Spec.Containers[0].Env {
		if e.ValueFrom != nil {
			return fmt.Errorf("the chart takes %s from the cluster; a process cannot", e.Name)
		}
		value := e.Value
		for path, folder := range folders {
			if value == path || strings.HasPrefix(value, path+"/") {
				value = folder + strings.TrimPrefix(value, path)
			}
		}
		c.watcherEnv = append(c.watcherEnv, e.Name+"="+value)
	}
	return nil
}

// mounts writes what pods have mounted of Secrets, and tokens of their service account, into folders, which it returns
// by where they are mounted.
func (c *Cluster) mounts(
	ctx context.Context, client kubernetes.Interface, pod corev1.PodSpec,
) (map[string]string, error) {
	folders := map[string]string{}
	for _, mount := range pod.Containers[0].VolumeMounts {
		i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if i < 0 {
			return nil, fmt.Errorf("the watcher's pods have no volume %s", mount.Name)
		}
		files, err := c.contents(ctx, client, pod.Volumes[i])
		if err != nil {
			return nil, fmt.Errorf("mount the watcher's volume %s: %w", mount.Name, err)
		}
		folder := filepath.Join(c.dir, "mounted", mount.Name)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
		for path, content := range files {
			if err := os.WriteFile(filepath.Join(folder, path), content, 0o600); err != nil {
				return nil, err
			}
		}
		folders[mount.MountPath] = folder
	}
	return folders, nil
}

// contents are the files of a volume by path. The tokens are those that kubelets would project.
func (c *Cluster) contents(
	ctx context.Context, client kubernetes.Interface, v corev1.Volume,
) (map[string][]byte, error) {
	files := map[string][]byte{}
	switch {
	case v.Secret != nil:
		secret, err := client.CoreV1().Secrets(chartNamespace).Get(ctx, v.Secret.SecretName, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		for _, item := range v.Secret.Items {
			files[item.Path] = secret.Data[item.Key]
		}
	case v.Projected != nil:
		for _, source := range v.Projected.Sources {
			if source.ServiceAccountToken == nil {
				return nil, errors.New("it projects something else than tokens")
			}
			audience := source.ServiceAccountToken.Audience
			token, err := c.Kube.ServiceAccountToken(ctx, chartNamespace, watcherAccount, audience)
			if err != nil {
				return nil, err
			}
			files[source.ServiceAccountToken.Path] = []byte(token)
		}
	default:
		return nil, errors.New("it is neither of a Secret nor of projected tokens; others are not mounted here")
	}
	return files, nil
}

// values are the chart's: of the installation what the region's stack says.
func (s *Stack) values(ctx context.Context, c *Cluster) (map[string]any, error) {
	name := "/joiner/installation"
	out, err := ssm.NewFromConfig(s.Cloud.Config()).GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
	if err != nil {
		return nil, fmt.Errorf("read what the region's stack says of itself: %w", err)
	}
	var installation map[string]any
	if err := json.Unmarshal([]byte(*out.Parameter.Value), &installation); err != nil {
		return nil, fmt.Errorf("read parameter %s: %w", name, err)
	}
	values := map[string]any{
		"cluster": c.Name, "installation": installation,
		"watcher": map[string]any{"replicas": 0},
		"webhook": map[string]any{"enabled": false},
	}
	if s.Options.Admission {
		if c.admission, err = newAdmission(filepath.Join(c.dir, "admission")); err != nil {
			return nil, err
		}
		s.closeLater(c.admission.close)
		values["webhook"] = map[string]any{
			"enabled": true, "url": c.admission.url(), "caBundle": string(c.admission.ca),
		}
	}
	if !s.Options.Relay && c.own == nil {
		return values, nil
	}
	outputs, err := c.stack.OutputValues()
	if err != nil {
		return nil, err
	}
	if c.own != nil {
		ownValues(values, outputs)
	}
	if !s.Options.Relay {
		return values, nil
	}
	var senders map[string]any
	if err := json.Unmarshal([]byte(outputs["RelaySenders"]), &senders); err != nil {
		return nil, fmt.Errorf("read output RelaySenders of cluster %s: %w", c.Name, err)
	}
	values["relay"] = map[string]any{"enabled": true, "queueURL": outputs["RelayQueueURL"], "senders": senders}
	return values, nil
}
