package cloud_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
)

func TestLogCountsByActionWithBytesAndErrors(t *testing.T) {
	c := start(t, cloud.Options{})
	var watched []string
	stop := c.Watch(func(r cloud.Request) { watched = append(watched, r.Service+"."+r.Action+" "+r.ErrorCode) })
	queues, buckets := awssqs.NewFromConfig(once(c)), awss3.NewFromConfig(once(c))
	queues.GetQueueUrl(t.Context(), &awssqs.GetQueueUrlInput{QueueName: aws.String("absent")})
	queues.ListQueues(t.Context(), nil)
	queues.ListQueues(t.Context(), nil)
	stop()
	buckets.GetObject(t.Context(), &awss3.GetObjectInput{Bucket: aws.String("absent"), Key: aws.String("k")})

	want := []string{"sqs.GetQueueUrl QueueDoesNotExist", "sqs.ListQueues ", "sqs.ListQueues "}
	if len(watched) != len(want) {
		t.Fatalf("watched %q, want %q", watched, want)
	}
	for i := range want {
		if watched[i] != want[i] {
			t.Errorf("watched %q, want %q", watched[i], want[i])
		}
	}
	if n := c.CountOf("sqs", "ListQueues"); n.Requests != 2 || n.Errors != 0 || n.RequestBytes != 4 || n.ResponseBytes != 4 {
		t.Errorf("count of ListQueues %+v, want 2 requests of 2 bytes each way", n)
	}
	if n := c.CountOf("s3", "GetObject"); n.Requests != 1 || n.Errors != 1 {
		t.Errorf("count of GetObject %+v, want 1 request, 1 error", n)
	}
	if n := c.CountOf("sqs", "PurgeQueue"); n.Requests != 0 {
		t.Errorf("count of PurgeQueue %+v, want none", n)
	}
	all := c.Counts()
	if len(all) != 3 || all[0].Service != "s3" || all[1].Action != "GetQueueUrl" {
		t.Errorf("counts %+v, want s3 GetObject, sqs GetQueueUrl, sqs ListQueues", all)
	}
	first := c.Requests()[0]
	if first.Status != 400 || first.CallerARN != "arn:aws:iam::123456789012:root" || first.RequestID == "" {
		t.Errorf("first request %+v, want status 400 by the root", first)
	}
}
