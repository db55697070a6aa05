package ec2fleet

import (
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// Fleet is one account and region seen through one client. It is safe for concurrent use.
type Fleet struct {
	client     *ec2.Client
	slowClient ec2.HTTPClient // that launches go by

	now func() time.Time

	mutex  sync.Mutex
	made   map[string]time.Time // when launch templates that were seen to be there were last used, by name
	born   map[string]time.Time // when this process made launch templates, by name, lately
	unseen map[string]bool      // launch templates that were made and that EC2 did not know
}

// New returns a fleet. Launches go over connections of their own.
func New(client *ec2.Client) *Fleet {
	f := &Fleet{client: client, now: time.Now, made: map[string]time.Time{}, born: map[string]time.Time{},
		unseen: map[string]bool{}}
	if client != nil {
		f.slowClient = withoutTimeout(client.Options().HTTPClient)
	}
	return f
}

// withoutTimeout returns a client that waits for an answer for as long as its call may last: an instant fleet is
// answered once all of it was tried, which takes longer than any other call. A client that is not the SDK's own stays
// what it is.
func withoutTimeout(client ec2.HTTPClient) ec2.HTTPClient {
	if own, ok := client.(*awshttp.BuildableClient); ok {
		return own.WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = 0 })
	}
	return client
}

// TagIntent names the launch an instance came from.
const TagIntent = "joiner.sh/intent"

// once lets the SDK ask a single time.
func once(o *ec2.Options) { o.Retryer = aws.NopRetryer{} }
