package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// PlanQueue is the name of a cluster's plan queue. The cluster's watcher may send to this queue and to no other, so that it proves whose
// hint a message is. infra/cdk gives the same name.
func PlanQueue(cluster string) string { return "joiner-plan-" + shortName(cluster) + ".fifo" }

// PlanQueueURL is the URL of a cluster's plan queue, made of that of another queue of the same account and region.
func PlanQueueURL(other, cluster string) string {
	return other[:strings.LastIndexByte(other, '/')+1] + PlanQueue(cluster)
}

// TellGroup is the message group of a cluster's hints that its plan queue only passes on, so that they wait behind no planning run.
// Hints to plan by are in the group named like the cluster.
func TellGroup(cluster string) string { return cluster + "/tell" }

// QueueName is the name of a queue, of its ARN or its URL.
func QueueName(of string) string { return of[strings.LastIndexAny(of, ":/")+1:] }

// shortName is a cluster's name as it stands in names of queues and roles: one of more than 29 characters keeps its first 20 and gets a
// digest.
func shortName(cluster string) string {
	const longest, kept = 29, 20
	if len(cluster) <= longest {
		return cluster
	}
	digest := sha256.Sum256([]byte(cluster))
	return cluster[:kept] + "-" + hex.EncodeToString(digest[:4])
}
