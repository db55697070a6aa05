package conform

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
)

// SSM is the contract of parameters, as far as node images need them.
func SSM(t *testing.T, target Target) {
	c := ssm.NewFromConfig(target.Config)
	target.Run(t, "ssm", []Case{
		{"a parameter gives its newest value, and an older one by its version", func(t T) {
			name := "/" + Unique("image")
			putParameter(t, c, name, "one", false)
			putParameter(t, c, name, "two", true)
			for asked, want := range map[string]string{name: "two", name + ":1": "one", name + ":2": "two"} {
				out, err := c.GetParameter(t.Context(), &ssm.GetParameterInput{Name: &asked})
				if err != nil {
					t.Fatalf("get %s: %v", asked, err)
				}
				if *out.Parameter.Value != want || *out.Parameter.Name != name {
					t.Errorf("%s is %s of %s, want %s", asked, *out.Parameter.Value, *out.Parameter.Name, want)
				}
			}
		}},
		{"a parameter is not overwritten unless asked for", func(t T) {
			name := "/" + Unique("image")
			putParameter(t, c, name, "one", false)
			_, err := c.PutParameter(t.Context(), &ssm.PutParameterInput{Name: &name, Value: aws.String("two"), Type: types.ParameterTypeString})
			wantCode(t, err, "ParameterAlreadyExists")
		}},
		{"an absent parameter is refused by its code", func(t T) {
			_, err := c.GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("/" + Unique("absent"))})
			wantType[*types.ParameterNotFound](t, err)
		}},
		{"absent names do not fail the others", func(t T) {
			name, absent := "/"+Unique("image"), "/"+Unique("absent")
			putParameter(t, c, name, "one", false)
			out, err := c.GetParameters(t.Context(), &ssm.GetParametersInput{Names: []string{absent, name}})
			if err != nil || len(out.Parameters) != 1 || *out.Parameters[0].Name != name || len(out.InvalidParameters) != 1 || out.InvalidParameters[0] != absent {
				t.Errorf("got %+v, %v", out, err)
			}
		}},
		{"a path lists its children, and recursively what is below", func(t T) {
			root := "/" + Unique("path")
			for _, name := range []string{"/a", "/b", "/b/c"} {
				putParameter(t, c, root+name, "x", false)
			}
			for recursive, want := range map[bool]int{false: 2, true: 3} {
				found := map[string]bool{}
				pages := ssm.NewGetParametersByPathPaginator(c, &ssm.GetParametersByPathInput{Path: &root, Recursive: &recursive, MaxResults: aws.Int32(2)})
				for pages.HasMorePages() {
					page, err := pages.NextPage(t.Context())
					if err != nil {
						t.Fatalf("list: %v", err)
					}
					for _, p := range page.Parameters {
						found[*p.Name] = true
					}
				}
				if len(found) != want {
					t.Errorf("recursive %v: %v, want %d", recursive, found, want)
				}
			}
		}},
		{"a deleted parameter is gone", func(t T) {
			name := "/" + Unique("image")
			putParameter(t, c, name, "one", false)
			if _, err := c.DeleteParameter(t.Context(), &ssm.DeleteParameterInput{Name: &name}); err != nil {
				t.Fatalf("delete: %v", err)
			}
			_, err := c.DeleteParameter(t.Context(), &ssm.DeleteParameterInput{Name: &name})
			wantType[*types.ParameterNotFound](t, err)
		}},
	})
}

func putParameter(t T, c *ssm.Client, name, value string, overwrite bool) {
	t.Helper()
	_, err := c.PutParameter(t.Context(), &ssm.PutParameterInput{Name: &name, Value: &value, Type: types.ParameterTypeString, Overwrite: &overwrite})
	if err != nil {
		t.Fatalf("put %s: %v", name, err)
	}
}
