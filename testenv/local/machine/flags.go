package machine

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	cliflag "k8s.io/component-base/cli/flag"
)

// applyFlags reads the flags that bear on the Node; of the many others the
// kubelet has, none does.
func (k *kubelet) applyFlags(flags []string) error {
	words, err := splitWords(strings.Join(flags, " "))
	if err != nil {
		return err
	}
	set := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	set.ParseErrorsWhitelist.UnknownFlags = true
	set.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	labels := cliflag.ConfigurationMap(k.labels)
	set.Var(&labels, "node-labels", "")
	taints := set.StringSlice("register-with-taints", nil, "")
	set.StringVar(&k.providerID, "provider-id", k.providerID, "")
	cloud := set.String("cloud-provider", "", "")
	set.Int32Var(&k.config.MaxPods, "max-pods", k.config.MaxPods, "")
	set.Int32Var(&k.config.PodsPerCore, "pods-per-core", k.config.PodsPerCore, "")
	set.Var(cliflag.NewMapStringString(&k.config.KubeReserved), "kube-reserved", "")
	set.Var(cliflag.NewMapStringString(&k.config.SystemReserved), "system-reserved", "")
	set.Var(cliflag.NewLangleSeparatedMapStringString(&k.config.EvictionHard), "eviction-hard", "")
	set.Var(cliflag.NewLangleSeparatedMapStringString(&k.config.EvictionSoft), "eviction-soft", "")
	set.Var(cliflag.NewMapStringString(&k.config.EvictionSoftGracePeriod), "eviction-soft-grace-period", "")
	if err := set.Parse(words); err != nil {
		return err
	}
	k.externalCloud = k.externalCloud || *cloud == "external"
	if set.Changed("register-with-taints") {
		k.config.RegisterWithTaints, err = parseTaints(*taints)
	}
	return err
}

// splitWords splits a command line as systemd does: at white space, with
// single or double quotes to keep it and a backslash to keep any character.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, escaped, quote := false, false, rune(0)
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			inWord, escaped = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '"' || r == '\'':
			inWord, quote = true, r
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return nil, fmt.Errorf("unbalanced quote or trailing backslash in %q", line)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// parseTaints reads key=value:effect and key:effect.
func parseTaints(specs []string) ([]corev1.Taint, error) {
	var taints []corev1.Taint
	for _, spec := range specs {
		pair, effect, ok := strings.Cut(spec, ":")
		key, value, _ := strings.Cut(pair, "=")
		taint := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
		if !ok {
			return nil, fmt.Errorf("taint %q has no effect", spec)
		}
		taints = append(taints, taint)
	}
	return taints, nil
}
