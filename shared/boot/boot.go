package boot

import (
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/caarlos0/env/v11"
)

// LoadSettings fills a struct from the environment by its env tags and exits with every missing or malformed variable
// named.
func LoadSettings(into any) {
	if err := env.Parse(into); err != nil {
		fmt.Fprintln(os.Stderr, "settings:", strings.TrimPrefix(err.Error(), "env: "))
		os.Exit(2)
	}
	if problem := negative(reflect.ValueOf(into).Elem()); problem != "" {
		fmt.Fprintln(os.Stderr, "settings:", problem)
		os.Exit(2)
	}
}

// negative says which duration is below 0, "" where none is: 0 stands for a default, and less makes no sense of any.
func negative(of reflect.Value) string {
	for i := range of.NumField() {
		field := of.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		if d, is := of.Field(i).Interface().(time.Duration); is && d < 0 {
			name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
			return fmt.Sprintf("%s is %s; give a duration that is not negative, or none for the default", name, d)
		}
		if field.Anonymous && field.Type.Kind() == reflect.Struct {
			if problem := negative(of.Field(i)); problem != "" {
				return problem
			}
		}
	}
	return ""
}

// Start is how a function begins: it has the memory used that the function is paid for, fills its settings from the
// environment, and returns the configuration of AWS.
func Start(settings any) aws.Config {
	TuneGC()
	LoadSettings(settings)
	return AWS()
}

// Logger returns a JSON logger on stdout that names the program in every line. JOINER_LOG_LEVEL is debug, info
// (default), warn or error.
func Logger(program string) *slog.Logger {
	var level slog.Level
	if text := os.Getenv("JOINER_LOG_LEVEL"); text != "" {
		if err := level.UnmarshalText([]byte(text)); err != nil {
			fmt.Fprintf(os.Stderr, "settings: JOINER_LOG_LEVEL %q is none of debug, info, warn, error\n", text)
			os.Exit(2)
		}
	}
	return slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: level})).With("program", program)
}

// version is what the linker was given with -X; empty where nobody said, as of `go run`.
var version string

// Version names the version this binary was built from: what the linker was given, else the commit, else the module's
// version, else "dev".
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return setting.Value[:12]
		}
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return "dev"
}
