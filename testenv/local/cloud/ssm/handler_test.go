package ssm_test

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ssm"
)

const recommended = "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/arm64/standard/recommended"

func serve(t *testing.T) (*ssm.Model, *sdk.Client) {
	t.Helper()
	m := ssm.New(ssm.Options{Clock: clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))})
	server := httptest.NewServer(ssm.NewHandler(m))
	t.Cleanup(server.Close)
	return m, sdk.New(sdk.Options{Region: catalog.Region, BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")})
}

func TestImageParametersNameImagesThatExist(t *testing.T) {
	_, c := serve(t)
	out, err := c.GetParameter(t.Context(), &sdk.GetParameterInput{Name: aws.String(recommended + "/image_id")})
	if err != nil {
		t.Fatal(err)
	}
	p := out.Parameter
	image, ok := catalog.LookupImage(*p.Value)
	if !ok || image.Architecture != catalog.ARM64 || *p.DataType != "aws:ec2:image" || p.Version != 1 || p.LastModifiedDate.Year() != 2026 {
		t.Errorf("got %+v, image %+v", p, image)
	}
	if want := "arn:aws:ssm:us-west-2::parameter" + recommended + "/image_id"; *p.ARN != want {
		t.Errorf("ARN %s, want %s", *p.ARN, want)
	}
	byARN, err := c.GetParameter(t.Context(), &sdk.GetParameterInput{Name: p.ARN})
	if err != nil || *byARN.Parameter.Value != *p.Value {
		t.Errorf("by ARN: %+v, %v", byARN, err)
	}
}

func TestParametersThatDoNotExistAreNamed(t *testing.T) {
	_, c := serve(t)
	_, err := c.GetParameter(t.Context(), &sdk.GetParameterInput{Name: aws.String("/absent")})
	if missing := new(types.ParameterNotFound); !errors.As(err, &missing) {
		t.Errorf("got %v, want ParameterNotFound", err)
	}
	_, err = c.GetParameter(t.Context(), &sdk.GetParameterInput{Name: aws.String(recommended + "/image_id:7")})
	if missing := new(types.ParameterVersionNotFound); !errors.As(err, &missing) {
		t.Errorf("got %v, want ParameterVersionNotFound", err)
	}
	out, err := c.GetParameters(t.Context(), &sdk.GetParametersInput{Names: []string{recommended + "/image_id", "/absent"}})
	if err != nil || len(out.Parameters) != 1 || len(out.InvalidParameters) != 1 || out.InvalidParameters[0] != "/absent" {
		t.Errorf("got %+v, %v", out, err)
	}
	if _, err := c.GetParameters(t.Context(), &sdk.GetParametersInput{Names: strings.Split(strings.Repeat("x,", 10)+"x", ",")}); err == nil {
		t.Error("eleven names were accepted")
	}
}

func TestPutMakesAVersionAndDeleteRemovesAll(t *testing.T) {
	m, c := serve(t)
	m.Put("/images/golden", "one")
	if n := m.Put("/images/golden", "two"); n != 2 {
		t.Errorf("version %d, want 2", n)
	}
	for name, want := range map[string]string{"/images/golden": "two", "/images/golden:1": "one"} {
		out, err := c.GetParameter(t.Context(), &sdk.GetParameterInput{Name: &name})
		if err != nil || *out.Parameter.Value != want {
			t.Errorf("%s: %+v, %v; want %s", name, out, err, want)
		}
	}
	m.Delete("/images/golden")
	if _, err := c.GetParameter(t.Context(), &sdk.GetParameterInput{Name: aws.String("/images/golden")}); err == nil {
		t.Error("a deleted parameter was found")
	}
}

func TestPathsListTheirParametersInPages(t *testing.T) {
	_, c := serve(t)
	list := func(path string, recursive bool) map[string]bool {
		names := map[string]bool{}
		pages := sdk.NewGetParametersByPathPaginator(c, &sdk.GetParametersByPathInput{Path: &path, Recursive: &recursive})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range page.Parameters {
				if names[*p.Name] {
					t.Errorf("%s is on two pages", *p.Name)
				}
				names[*p.Name] = true
			}
		}
		return names
	}
	if names := list(recommended, false); len(names) != 4 || !names[recommended+"/image_id"] {
		t.Errorf("below %s: %v", recommended, names)
	}
	root := "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023"
	want := 0
	for _, p := range catalog.Parameters() {
		if strings.HasPrefix(p.Name, root+"/") {
			want++
		}
	}
	if names := list(root, true); len(names) != want || want < 50 {
		t.Errorf("%d parameters below %s, want %d", len(names), root, want)
	}
	if names := list(root, false); len(names) != 0 {
		t.Errorf("not recursively: %v", names)
	}
}
