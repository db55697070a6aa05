package account

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// A17: all of an account's instances are counted page by page. EC2 may time out where it is asked for thousands of them at once.
func TestA17InstancesAreCountedInPages(t *testing.T) {
	const page = `<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet><item><instancesSet>%s</instancesSet></item></reservationSet>%s</DescribeInstancesResponse>`
	instance := func(lifecycle string) string {
		return "<item><instanceType>m5.large</instanceType>" + lifecycle + "</item>"
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if err := q.ParseForm(); err != nil {
			t.Error(err)
		}
		switch action := q.Form.Get("Action"); action {
		case "DescribeInstances":
			if most := q.Form.Get("MaxResults"); most != "1000" {
				t.Errorf("asks for %q instances at a time, want 1000", most)
			}
			if q.Form.Get("NextToken") == "" {
				fmt.Fprintf(w, page, instance("")+instance(""), "<nextToken>more</nextToken>")
				return
			}
			fmt.Fprintf(w, page, instance("")+instance("<instanceLifecycle>spot</instanceLifecycle>"), "")
		case "DescribeInstanceTypes":
			fmt.Fprint(w, `<DescribeInstanceTypesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><instanceTypeSet><item><instanceType>m5.large</instanceType><vCpuInfo><defaultVCpus>2</defaultVCpus></vCpuInfo></item></instanceTypeSet></DescribeInstanceTypesResponse>`)
		default:
			t.Errorf("asks for %s", action)
		}
	}))
	defer server.Close()
	got, err := vcpusRunning(t.Context(), ec2.New(ec2.Options{
		Region: "us-west-2", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}))
	if err != nil {
		t.Fatal(err)
	}
	total := map[bool]int64{}
	for way, vcpus := range got {
		total[way.spot] += vcpus
	}
	if total[false] != 6 || total[true] != 2 {
		t.Errorf("%d vCPUs on demand and %d spot, want 6 and 2: %v", total[false], total[true], got)
	}
}
