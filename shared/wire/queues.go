package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// PlanQueue is the name of a cluster's plan queue. The cluster's watcher may send to this queue and to no other, so
// that it proves whose hint a message is. infra/cdk gives the same name.
func PlanQueue(cluster string) string { return "joiner-plan-" + shortName(cluster) + ".fifo" }

// PlanQueueURL is the URL of a cluster's plan queue, made of that of another queue of the same account and region.
func PlanQueueURL(other, cluster string) string {
	return other[:strings.LastIndexByte(other, '/')+1] + PlanQueue(cluster)
}

// ForwardGroup is the message group of a cluster's hints that its plan queue only passes on, so that they wait behind
// no planning run. Hints to plan by are in the group named like the cluster.
func ForwardGroup(cluster string) string { return cluster + "/tell" }

// QueueName is the name of a queue, of its ARN or its URL.
func QueueName(of string) string { return of[strings.LastIndexAny(of, ":/")+1:] }

// shortName is a cluster's name as it stands in names of queues and roles, of 29 characters at most.
func shortName(cluster string) string { return Shorten(cluster, 29, 8) }

// Shorten returns a name of at most longest bytes. One that is longer keeps its beginning and gets a dash and a digest
// of so many hexadecimal digits, an even number of up to 64.
func Shorten(name string, longest, digits int) string {
	if len(name) <= longest {
		return name
	}
	digest := sha256.Sum256([]byte(name))
	return name[:longest-1-digits] + "-" + hex.EncodeToString(digest[:digits/2])
}
