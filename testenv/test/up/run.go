package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/infra/examples"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/local/sources"
	"github.com/joiner-sh/joiner/testenv/test/console"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

type options struct {
	once   bool
	empty  bool
	down   bool
	pods   int
	within time.Duration
	dir    string
	boot   time.Duration
	audit  bool

	settings map[string]string // of the functions
	addons   []string          // see stack.Options
	types    []catalog.Type    // the same
}

// cluster is the name the example manifests name.
const cluster = "joiner-demo"

func run(ctx context.Context, o options) error {
	if o.dir == "" {
		root, err := sources.Repository()
		if err != nil {
			return err
		}
		o.dir = filepath.Join(root, ".cache", "up")
	}
	lock, err := takeDir(o.dir, o.down)
	if err != nil || o.down {
		return err
	}
	defer lock.release()

	// 1. Everything that would be an account and a cluster.
	began := time.Now()
	story := newStory(os.Stdout)
	if !o.once && !o.empty {
		go func() { _, _ = console.Build(ctx) }() // while the rest starts; what is wrong is printed when it is started
	}
	options := stack.Options{
		Cluster: cluster, Dir: o.dir, Progress: os.Stdout, Watchers: 1,
		Admission: !o.empty, // programs bring objects of which some are wrong on purpose
		OnLog:     story.functionLog, OnInstance: story.instance, FunctionEnv: o.settings, Addons: o.addons,
		Types: o.types,
	}
	if o.audit {
		options.KubeOptions.AuditPolicy = kube.AuditEnds
	}
	if o.boot > 0 {
		options.EC2 = stack.QuickTiming()
		options.EC2.Boot = ec2.Delay{Min: o.boot, Max: o.boot}
	}
	s, err := stack.Start(ctx, options)
	if err != nil {
		return err
	}
	defer s.Stop()
	story.say("everything runs after %s", time.Since(began).Round(100*time.Millisecond))
	if o.empty {
		if err := json.NewEncoder(os.Stdout).Encode(placeOf(s)); err != nil {
			return err
		}
		<-ctx.Done()
		story.say("stopping")
		return nil
	}

	if !o.once {
		page, err := console.Start(ctx, s.Dir(), "--testenv", s.Cloud.Endpoint(), "--cluster", cluster, "--every", "500ms")
		if err != nil {
			return err
		}
		defer page.Stop()
		story.say("console: %s shows all that follows", page.URL)
	}

	// 2. What a person would apply.
	if err := s.Kube.Apply(ctx, examples.NodePool, examples.Inflate); err != nil {
		return err
	}
	story.say("applied NodePool default, EC2NodeClass default and Deployment inflate")
	client, err := kubernetes.NewForConfig(s.Kube.Config())
	if err != nil {
		return err
	}
	if err := story.follow(ctx, s); err != nil {
		return err
	}
	if err := awaitPool(ctx, s, "default"); err != nil {
		return err
	}
	story.say("NodePool default is Ready")

	// 3. The main job.
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "inflate", Namespace: "default"}, Spec: autoscalingv1.ScaleSpec{Replicas: int32(o.pods)}}
	if _, err := client.AppsV1().Deployments("default").UpdateScale(ctx, "inflate", scale, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("scale deployment inflate: %w", err)
	}
	story.say("scaled Deployment inflate to %d replicas", o.pods)
	waiting, cancel := context.WithTimeout(ctx, o.within)
	defer cancel()
	if err := story.awaitRunning(waiting, o.pods); err != nil {
		return fmt.Errorf("%w\n%s", err, story.diagnosis(s))
	}
	outcome := story.result(s)
	story.summary(outcome)

	// 4. Leave it to the person, or say how it went.
	if o.once {
		return json.NewEncoder(os.Stdout).Encode(outcome)
	}
	story.invite(s)
	<-ctx.Done()
	story.flush()
	story.say("stopping")
	return nil
}
