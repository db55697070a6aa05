package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

const (
	accessKey = cloud.DefaultAccessKeyID
	secretKey = cloud.DefaultSecretAccessKey
)

var nodePools = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}

// awaitPool returns when a NodePool's Ready condition is True, and after a minute with what it says instead.
func awaitPool(ctx context.Context, s *stack.Stack, name string) error {
	client, err := dynamic.NewForConfig(s.Kube.Config())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	last := "no condition Ready yet"
	for {
		pool, err := client.Resource(nodePools).Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			ready, text := condition(pool, "Ready")
			if ready {
				return nil
			}
			last = text
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("NodePool %s is not Ready: %s", name, last)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func condition(object *unstructured.Unstructured, kind string) (bool, string) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		entry, ok := c.(map[string]any)
		if ok && entry["type"] == kind {
			return entry["status"] == "True", fmt.Sprintf("%v=%v, %v: %v", kind, entry["status"], entry["reason"], entry["message"])
		}
	}
	return false, "no condition " + kind + " yet"
}
