package eks_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/eks"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

// A cluster and an access entry are there at once, or after a while.
func TestClustersAndEntriesActAtOnceOrLater(t *testing.T) {
	for _, lags := range []bool{false, true} {
		reads := reading.Strict(reading.ClusterLag, reading.AccessEntryLag)
		if lags {
			reads = reading.Other(reading.ClusterLag, reading.AccessEntryLag)
		}
		fake := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		m := eks.New(eks.Options{Clock: fake, Readings: reads})
		server := httptest.NewServer(eks.NewHandler(m))
		t.Cleanup(server.Close)
		c := sdk.New(sdk.Options{Region: "us-west-2", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")})
		m.AddCluster(eks.Cluster{Name: "dev"})
		if err := m.AddAccessEntry(eks.AccessEntry{Cluster: "dev", PrincipalARN: role}); err != nil {
			t.Fatal(err)
		}
		check := func() (status string, entered bool) {
			out, err := c.DescribeCluster(t.Context(), &sdk.DescribeClusterInput{Name: aws.String("dev")})
			if err != nil {
				t.Fatal(err)
			}
			_, _, entered = m.Lookup("dev", role)
			return string(out.Cluster.Status), entered
		}
		want := map[bool]string{false: "ACTIVE", true: "CREATING"}[lags]
		if status, entered := check(); status != want || entered == lags {
			t.Errorf("lags %v: at first %s, entered %v", lags, status, entered)
		}
		fake.Advance(max(reading.ClusterDelay, reading.AccessEntryDelay))
		if status, entered := check(); status != "ACTIVE" || !entered {
			t.Errorf("lags %v: then %s, entered %v", lags, status, entered)
		}
	}
}
