package wire

import "testing"

// The names are those that infra/cdk gives (short, in its tests): neither imports the other.
func TestNamesOfPlanQueues(t *testing.T) {
	for cluster, want := range map[string]string{
		"joiner-demo":                    "joiner-plan-joiner-demo.fifo",
		"abcdefghijklmnopqrstuvwxyz-01":  "joiner-plan-abcdefghijklmnopqrstuvwxyz-01.fifo",
		"abcdefghijklmnopqrstuvwxyz-012": "joiner-plan-abcdefghijklmnopqrst-fb96250c.fifo",
	} {
		if got := PlanQueue(cluster); got != want {
			t.Errorf("%s: %s, want %s", cluster, got, want)
		}
	}
	if got := PlanQueueURL("https://sqs.us-west-2.amazonaws.com/123456789012/joiner-catalog", "shop"); got != "https://sqs.us-west-2.amazonaws.com/123456789012/joiner-plan-shop.fifo" {
		t.Error(got)
	}
	for of, want := range map[string]string{"arn:aws:sqs:us-west-2:123456789012:joiner-plan-shop.fifo": "joiner-plan-shop.fifo", "http://127.0.0.1:4/1/looks": "looks", "": ""} {
		if got := QueueName(of); got != want {
			t.Errorf("%s: %s, want %s", of, got, want)
		}
	}
}
