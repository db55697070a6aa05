package logs_test

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/logs"
)

func TestLogGroupsAreListedByPrefixInPages(t *testing.T) {
	c, err := cloud.Start(t.Context(), cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m := logs.New()
	c.Register("logs", logs.NewHandler(m))
	for _, name := range []string{"/b/2", "/a/1", "/b/1", "/b/3", "/b/3", "/b/4"} {
		m.Add(name)
	}
	m.Remove("/b/4")
	var got []string
	pages := sdk.NewDescribeLogGroupsPaginator(sdk.NewFromConfig(c.Config()), &sdk.DescribeLogGroupsInput{LogGroupNamePrefix: aws.String("/b/"), Limit: aws.Int32(2)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range page.LogGroups {
			got = append(got, aws.ToString(g.LogGroupName))
		}
	}
	if !slices.Equal(got, []string{"/b/1", "/b/2", "/b/3"}) {
		t.Errorf("listed %v", got)
	}
}
