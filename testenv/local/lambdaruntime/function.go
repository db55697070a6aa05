package lambdaruntime

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Limits of the Lambda service that this package enforces.
const (
	// MaxRequestBytes is the largest event of a synchronous invocation.
	MaxRequestBytes = 6 * 1024 * 1024
	// MaxResponseBytes is the largest response: the request limit and a hundred bytes of grace.
	MaxResponseBytes = MaxRequestBytes + 100
	// MaxEnvBytes is the limit on a function's own environment: the sum of its names and values.
	MaxEnvBytes = 4 * 1024
	// MaxTimeout is the longest a function may run.
	MaxTimeout = 15 * time.Minute

	minMemoryMB        = 128
	maxMemoryMB        = 10240
	defaultTimeout     = 3 * time.Second
	accountConcurrency = 1000
	minUnreserved      = 100 // of an account with a quota of at least that
)

// Function is what a deployment says about one Lambda function.
type Function struct {
	// Name is letters, digits, '-' and '_', at most 64 of them.
	Name string
	// Path is the bootstrap executable. Its folder becomes the working directory and LAMBDA_TASK_ROOT.
	Path string
	// Handler is passed as _HANDLER; empty means "bootstrap".
	Handler string
	// Env is the function's own environment, at most MaxEnvBytes; it may not set what Lambda reserves.
	Env map[string]string
	// MemoryMB is in 128..10240; 0 means 128.
	MemoryMB int
	// Timeout is positive and at most MaxTimeout; 0 means three seconds. Fractions of a second are accepted, for tests.
	Timeout time.Duration
	// ReservedConcurrency bounds the invocations in flight: nil shares the account's, 0 throttles every invocation.
	ReservedConcurrency *int
	// Role is the ARN handed to Config.Credentials; it may be empty.
	Role string
	// ColdStartDelay is added before each new sandbox is started.
	ColdStartDelay time.Duration
	// AllowRecursion switches off the guard that stops a chain in which the function, through a queue, calls itself.
	AllowRecursion bool
}

var functionName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// reservedEnv are the names a function's own environment may not set.
var reservedEnv = []string{
	"_HANDLER", "_X_AMZN_TRACE_ID", "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_EXECUTION_ENV", "AWS_ACCESS_KEY",
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "LAMBDA_TASK_ROOT", "LAMBDA_RUNTIME_DIR",
}

// withDefaults returns the function with its absent settings filled.
func (f Function) withDefaults() Function {
	if f.Handler == "" {
		f.Handler = "bootstrap"
	}
	if f.MemoryMB == 0 {
		f.MemoryMB = minMemoryMB
	}
	if f.Timeout == 0 {
		f.Timeout = defaultTimeout
	}
	return f
}

// validate says the first thing the Lambda service would refuse, or nil.
func (f Function) validate() error {
	if !functionName.MatchString(f.Name) {
		return fmt.Errorf("name %q: want 1 to 64 letters, digits, '-' or '_'", f.Name)
	}
	if f.MemoryMB < minMemoryMB || f.MemoryMB > maxMemoryMB {
		return fmt.Errorf("memory %d MB: want %d to %d", f.MemoryMB, minMemoryMB, maxMemoryMB)
	}
	if f.Timeout < 0 || f.Timeout > MaxTimeout {
		return fmt.Errorf("timeout %v: want more than zero and at most %v", f.Timeout, MaxTimeout)
	}
	if f.ReservedConcurrency != nil && *f.ReservedConcurrency < 0 {
		return fmt.Errorf("reserved concurrency %d: want zero or more", *f.ReservedConcurrency)
	}
	if err := f.validateEnv(); err != nil {
		return err
	}
	return executable(f.Path)
}

func (f Function) validateEnv() error {
	sizeBytes := 0
	for name, value := range f.Env {
		if slices.Contains(reservedEnv, name) || strings.HasPrefix(name, "AWS_LAMBDA_") {
			return fmt.Errorf("environment: %s is reserved by Lambda", name)
		}
		sizeBytes += len(name) + len(value)
	}
	if sizeBytes > MaxEnvBytes {
		return fmt.Errorf("environment: %d bytes, the limit is %d", sizeBytes, MaxEnvBytes)
	}
	return nil
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("bootstrap: %w", err)
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("bootstrap: %s is not an executable file", path)
	}
	return nil
}
