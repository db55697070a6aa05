package dayone

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/testenv/local/cloud/eks"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// Options say what a reader has before they begin. The zero value is an account without anything, and a cluster named shop.
type Options struct {
	Cluster      string    // shop
	Concurrency  int       // the account's quota of concurrent executions: 1000
	NoKubernetes bool      // EKS knows of the cluster, and nothing answers at its endpoint
	Elsewhere    bool      // the cluster is in a second account; the reader has a profile for each
	Log          io.Writer // nil = discard
}

// World is a reader's account, cluster and shell.
type World struct {
	Stack   *stack.Stack
	Cluster *stack.Cluster // that pages are about; nil with NoKubernetes
	Foreign *stack.Foreign // the account of the cluster, where that is another one; nil: the stack's
	Table   Table
	Typed   []Command // all that was typed so far

	troubles troubles
	shell    *shell
	watcher  *follower
	closers  []func()
}

// Profiles of a reader who has two accounts, as the pages call them.
const (
	hubProfile     = "central"
	foreignProfile = "workloads"
)

// administrators is the group of the reader in the cluster.
const administrators = "dayone-administrators"

// Start starts account, cluster and registry. On an error nothing is left running.
func Start(ctx context.Context, o Options) (*World, error) {
	if o.Cluster == "" {
		o.Cluster = "shop"
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	w := &World{Table: Usual()}
	if err := w.start(ctx, o); err != nil {
		w.Stop()
		return nil, fmt.Errorf("start the first day: %w", err)
	}
	return w, nil
}

func (w *World) start(ctx context.Context, o Options) error {
	first := o.Cluster
	if o.Elsewhere {
		first = hubProfile // which is nobody's business
	}
	var err error
	w.Stack, err = stack.Start(ctx, stack.Options{
		Bare: true, NoKubernetes: o.NoKubernetes || o.Elsewhere, Cluster: first, Concurrency: o.Concurrency, Watchers: -1, Progress: o.Log,
		OnLog: w.troubles.line, OnExit: w.troubles.exit,
	})
	if err != nil {
		return err
	}
	w.later(w.Stack.Stop)
	w.Cluster = w.Stack.Cluster
	if o.Elsewhere {
		w.Foreign = stack.AddForeign(w.Stack, o.Cluster)
		if w.Cluster, err = w.Foreign.StartCluster(ctx, o.Cluster); err != nil {
			return err
		}
	}
	// The shell's home is the stack's folder, which Stop removes after all processes.
	home := filepath.Join(w.Stack.Dir(), "reader")
	if err := os.MkdirAll(filepath.Join(home, "bin"), 0o755); err != nil {
		return err
	}
	if w.Cluster != nil {
		if err := w.furnish(ctx, home, o.Log); err != nil {
			return err
		}
	}
	return w.sit(ctx, home, o.Log)
}

// furnish gives the reader what only commands of a whole page need: a registry, programs, the cluster, and somebody who runs its watcher.
func (w *World) furnish(ctx context.Context, home string, log io.Writer) error {
	registry := w.Stack.ECR
	if w.Foreign != nil {
		registry = w.Foreign.ECR
	}
	stop, err := serveRegistry(ctx, registry)
	if err != nil {
		return err
	}
	w.later(stop)
	if err := installed(ctx, filepath.Join(home, "bin"), w.Cluster.Kube.Assets()); err != nil {
		return err
	}
	if err := w.enter(ctx, home); err != nil {
		return err
	}
	w.watcher = follow(w.Stack, w.Cluster, registry, log)
	w.later(w.watcher.stop)
	return nil
}

// reader returns the keys of a user of the account.
func (w *World) reader() sts.Credentials { return w.Stack.Cloud.STS.AddUser("reader") }

// enter lets the reader into the cluster, as EKS lets in who made one: by their keys, and by a kubeconfig that is there already.
func (w *World) enter(ctx context.Context, home string) error {
	clusters, who := w.Stack.Clusters(), "arn:aws:iam::"+w.Stack.Cloud.Account()+":user/reader"
	if w.Foreign != nil {
		clusters, who = w.Foreign.Clusters(), "arn:aws:iam::"+w.Foreign.Account+":role/Admin"
	}
	err := clusters.AddAccessEntry(eks.AccessEntry{Cluster: w.Cluster.Name, PrincipalARN: who, Groups: []string{administrators}})
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(w.Cluster.Kube.Config())
	if err != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: administrators}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: administrators}},
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return err
	}
	config, err := os.ReadFile(w.Cluster.Kube.KubeconfigPath())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(home, ".kube"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, ".kube", "config"), config, 0o600)
}

// sit opens the reader's shell, in the project's folder.
func (w *World) sit(ctx context.Context, home string, log io.Writer) error {
	settings, err := goSettings(ctx)
	if err != nil {
		return err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	keys := w.Stack.Cloud.Environment(w.reader())
	if w.Foreign != nil {
		if err := w.profiles(home); err != nil {
			return err
		}
		keys = slices.DeleteFunc(keys, func(e string) bool {
			return strings.HasPrefix(e, "AWS_ACCESS_KEY_ID=") || strings.HasPrefix(e, "AWS_SECRET_ACCESS_KEY=")
		})
	}
	w.shell = &shell{dir: home, at: Root(), log: log, env: slices.Concat(settings, keys, []string{
		"HOME=" + home, "PATH=" + filepath.Join(home, "bin") + ":" + filepath.Join(Root(), "bin") + ":" + os.Getenv("PATH"),
		"TERM=dumb", "LANG=C.UTF-8", "AWS_PAGER=", "npm_config_cache=" + filepath.Join(cache, "joiner", "npm"), "npm_config_userconfig=" + filepath.Join(os.Getenv("HOME"), ".npmrc"),
		"npm_config_update_notifier=false",
		"REGISTRY=" + w.Stack.ECR.Host(), "CDK_DISABLE_CLI_TELEMETRY=true", "CDK_PROGRESS=events", // its bar is drawn again and again
		// Node.js and CDK say at length which versions of Node.js they will stop supporting.
		"JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1", "JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION=1", "NODE_NO_WARNINGS=1",
	})}
	for name, value := range w.Table.Variables {
		w.shell.set(name, value)
	}
	return nil
}

// profiles writes a profile for each account.
func (w *World) profiles(home string) error {
	elsewhere, err := w.Foreign.Administrator()
	if err != nil {
		return err
	}
	var text strings.Builder
	for name, keys := range map[string]sts.Credentials{hubProfile: w.reader(), foreignProfile: elsewhere} {
		fmt.Fprintf(&text, "[%s]\naws_access_key_id = %s\naws_secret_access_key = %s\n", name, keys.AccessKeyID, keys.SecretAccessKey)
		if keys.SessionToken != "" {
			fmt.Fprintf(&text, "aws_session_token = %s\n", keys.SessionToken)
		}
	}
	if err := os.MkdirAll(filepath.Join(home, ".aws"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, ".aws", "credentials"), []byte(text.String()), 0o600)
}

// Run types the commands of blocks, one after another, and stops at the first that fails: then the error is a *Failed.
func (w *World) Run(ctx context.Context, blocks []Block) error {
	for _, c := range Commands(blocks) {
		if _, err := w.Type(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// longest is how long one command may take, builds of everything among them, on a machine four times as slow: one that takes longer hangs.
const longest = 40 * time.Minute

// Type types one command, and returns what it told.
func (w *World) Type(ctx context.Context, c Command) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	c = w.Table.Fill(c)
	w.Typed = append(w.Typed, c)
	output, err := w.shell.run(ctx, c)
	for name, value := range w.Table.learn(output) {
		w.shell.set(name, value)
	}
	return output, err
}

// Return takes the reader back to the project's folder, as one who opens another shell.
func (w *World) Return() { w.shell.at = Root() }

func (w *World) later(f func()) { w.closers = append(w.closers, f) }

// Stop ends everything. It may be called more than once.
func (w *World) Stop() {
	for _, f := range slices.Backward(w.closers) {
		f()
	}
	w.closers = nil
}
