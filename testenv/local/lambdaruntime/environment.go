package lambdaruntime

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// environment returns what a new sandbox's process sees: nothing of our own environment, what Lambda sets, the
// credentials of the function's role, and the function's own variables.
func (r *Runner) environment(ctx context.Context, fn Function, sandbox sandboxPaths) ([]string, error) {
	credentials, err := r.credentials(ctx, fn)
	if err != nil {
		return nil, err
	}
	vars := map[string]string{
		"AWS_ACCESS_KEY_ID":               credentials.AccessKeyID,
		"AWS_SECRET_ACCESS_KEY":           credentials.SecretAccessKey,
		"AWS_REGION":                      r.config.Region,
		"AWS_DEFAULT_REGION":              r.config.Region,
		"AWS_EXECUTION_ENV":               "AWS_Lambda_provided.al2023",
		"AWS_LAMBDA_RUNTIME_API":          sandbox.runtimeAPI,
		"AWS_LAMBDA_FUNCTION_NAME":        fn.Name,
		"AWS_LAMBDA_FUNCTION_VERSION":     "$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": strconv.Itoa(fn.MemoryMB),
		"AWS_LAMBDA_INITIALIZATION_TYPE":  "on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME":       "/aws/lambda/" + fn.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME":      sandbox.logStream,
		"LAMBDA_TASK_ROOT":                filepath.Dir(fn.Path),
		"LAMBDA_RUNTIME_DIR":              "/var/runtime",
		"LANG":                            "en_US.UTF-8",
		"PATH":                            "/usr/local/bin:/usr/bin:/bin:/opt/bin",
		"TMPDIR":                          sandbox.tmp,
		"TZ":                              ":UTC",
		"_HANDLER":                        fn.Handler,
	}
	if credentials.SessionToken != "" {
		vars["AWS_SESSION_TOKEN"] = credentials.SessionToken
	}
	if r.config.EndpointURL != "" {
		vars["AWS_ENDPOINT_URL"] = r.config.EndpointURL
		vars["AWS_EC2_METADATA_DISABLED"] = "true"
	}
	for name, value := range fn.Env {
		vars[name] = value
	}
	env := make([]string, 0, len(vars))
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, nil
}

// credentials returns those of the function's role; without a source of them, a fixed pair that signs but proves nothing.
func (r *Runner) credentials(ctx context.Context, fn Function) (aws.Credentials, error) {
	if r.config.Credentials == nil {
		return aws.Credentials{AccessKeyID: "AKIATESTENV" + "000000000", SecretAccessKey: "testenv"}, nil
	}
	credentials, err := r.config.Credentials(ctx, fn)
	if err != nil {
		return aws.Credentials{}, fmt.Errorf("credentials for role %q: %w", fn.Role, err)
	}
	return credentials, nil
}
