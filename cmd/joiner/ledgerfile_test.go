package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// copied writes the bucket's objects and the table's items into a folder, as the AWS CLI does.
func (a *installedAccount) copied(t *testing.T, table string) string {
	t.Helper()
	dir := t.TempDir()
	objects := s3.NewFromConfig(a.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	listed, err := objects.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("joiner-data")})
	if err != nil || len(listed.Contents) == 0 {
		t.Fatal(listed, err)
	}
	for _, object := range listed.Contents {
		got, err := objects.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("joiner-data"), Key: object.Key})
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(*object.Key))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	items := []map[string]any{}
	pages := dynamodb.NewScanPaginator(dynamodb.NewFromConfig(a.Config()), &dynamodb.ScanInput{TableName: &table})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			items = append(items, jsonOf(t, item))
		}
	}
	data, err := json.Marshal(map[string]any{"Items": items, "Count": len(items), "ScannedCount": len(items), "ConsumedCapacity": nil})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ledger.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// jsonOf returns an item as the AWS CLI writes it.
func jsonOf(t *testing.T, item map[string]types.AttributeValue) map[string]any {
	t.Helper()
	out := map[string]any{}
	for name, value := range item {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			out[name] = map[string]any{"S": v.Value}
		case *types.AttributeValueMemberN:
			out[name] = map[string]any{"N": v.Value}
		case *types.AttributeValueMemberB:
			out[name] = map[string]any{"B": v.Value}
		case *types.AttributeValueMemberSS:
			out[name] = map[string]any{"SS": v.Value}
		case *types.AttributeValueMemberBOOL:
			out[name] = map[string]any{"BOOL": v.Value}
		case *types.AttributeValueMemberM:
			out[name] = map[string]any{"M": jsonOf(t, v.Value)}
		default:
			t.Fatalf("%s is a %T", name, value)
		}
	}
	return out
}

// What is asked of a copy of the bucket and the table is answered as the installation answered when they were copied, and days later too.
func TestAFolderAnswersAsTheInstallationItIsACopyOf(t *testing.T) {
	a := newAccount(t)
	now := a.lived(t)
	dir := a.copied(t, "joiner")
	stamp := func(at time.Time) {
		if err := os.Chtimes(filepath.Join(dir, "ledger.json"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	questions := [][]string{
		{"why", "pod", "shop/web-0"}, {"why", "pod", "shop/api-0"}, {"why", "node", "n1"}, {"why", "node", "i-old"}, {"why", "pod", "shop/web-0", "--at", "-30m"},
		{"report", "--since", "2h", "--by", "workload"}, {"savings", "--since", "2h"}, {"savings"}, {"decisions", "--since", "2h"},
	}
	type answer struct {
		code      int
		out, errs string
	}
	ask := func(input ...string) answer {
		code, out, errs := joiner("", input...)
		return answer{code, out, errs}
	}
	for _, input := range questions {
		var want answer
		var at time.Time
		for at = time.Unix(0, 0); at.Unix() != time.Now().Unix(); { // answers depend on the second they are given in
			at = time.Now().Truncate(time.Second)
			want = ask(input...)
		}
		stamp(at)
		if got := ask(append(input, "--dir", dir)...); got != want {
			t.Errorf("%v: of the folder\n%+v\nof the installation\n%+v", input, got, want)
		}
		if want.code != 0 && input[len(input)-1] != "-30m" || want.out+want.errs == "" {
			t.Errorf("%v: %+v", input, want)
		}
	}
	stamp(time.Unix(now+3*24*3600, 0))
	if _, out, _ := joiner("", "savings", "--since", "4d", "--dir", dir); !strings.Contains(out, "1 command") {
		t.Errorf("three days later: %s", out)
	}
}

func TestFoldersThatCannotAnswer(t *testing.T) {
	for content, want := range map[string]string{
		"":                               "is not what \"aws dynamodb scan --output json\" writes",
		"{}":                             "has no Items",
		`{"Items":[],"NextToken":"abc"}`: "is a part of the table",
		`{"Items":[]}`:                   "no cluster is attached",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "ledger.json"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := joiner("", "savings", "--dir", dir); code != 2 || !strings.Contains(errs, want) {
			t.Errorf("%q: exit status %d, %s", content, code, errs)
		}
	}
	if code, _, errs := joiner("", "decisions", "--dir", t.TempDir()); code != 2 || !strings.Contains(errs, "--dir") || !strings.Contains(errs, "ledger.json") {
		t.Errorf("an empty folder: exit status %d, %s", code, errs)
	}
	if code, _, errs := joiner("", "why", "pod", "a/b", "--dir", t.TempDir(), "-f", "-"); code != 2 || !strings.Contains(errs, "not both") && !strings.Contains(errs, "ledger.json") {
		t.Errorf("both: exit status %d, %s", code, errs)
	}
}
