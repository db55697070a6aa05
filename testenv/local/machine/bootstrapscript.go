package machine

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

const (
	bootstrapScript = "/etc/eks/bootstrap.sh"
	// kubeletMaxPods is the kubelet's own default.
	kubeletMaxPods = 110
)

// bootstrapOptions are those bootstrap.sh knows; each takes one value, which is
// the next word.
var bootstrapOptions = []string{
	"--apiserver-endpoint", "--aws-api-retry-attempts", "--b64-cluster-ca", "--cluster-id", "--container-runtime", "--containerd-config-file",
	"--dns-cluster-ip", "--docker-config-json", "--enable-docker-bridge", "--enable-local-outpost", "--ip-family", "--kubelet-extra-args",
	"--local-disks", "--mount-bpf-fs", "--pause-container-account", "--pause-container-version", "--service-ipv6-cidr", "--use-max-pods",
}

// readBootstrapScript does what cloud-init and then bootstrap.sh of Amazon Linux
// 2 do. Scripts are not run: the last call of bootstrap.sh in any of them counts,
// with arguments that are plain or quoted words.
func readBootstrapScript(data []byte) (NodeConfig, error) {
	scripts, err := shellParts(data)
	if err != nil {
		return NodeConfig{}, err
	}
	var words []string
	for n, script := range scripts {
		found, err := callsOf(script)
		if err != nil {
			return NodeConfig{}, fmt.Errorf("user data, script %d: %w", n+1, err)
		}
		if found != nil {
			words = found
		}
	}
	if words == nil {
		return NodeConfig{}, errors.New("user data has no script that calls " + bootstrapScript)
	}
	return bootstrapConfig(words)
}

// shellParts returns the scripts cloud-init would run: the whole where it begins
// with #!, else the parts of type text/x-shellscript.
func shellParts(data []byte) ([]string, error) {
	if len(data) > maxUserDataBytes {
		return nil, fmt.Errorf("user data has %d bytes, EC2 allows %d", len(data), maxUserDataBytes)
	}
	data, err := unpack(data)
	if err != nil {
		return nil, fmt.Errorf("unpack user data: %w", err)
	}
	if bytes.HasPrefix(data, []byte("#!")) {
		return []string{string(data)}, nil
	}
	parts := multipartReader(data)
	if parts == nil {
		return nil, errors.New("user data is neither a script nor a multipart message")
	}
	var scripts []string
	for n := 1; ; n++ {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return scripts, nil
		}
		if err != nil {
			return nil, fmt.Errorf("user data, part %d: %w", n, err)
		}
		body, err := io.ReadAll(part)
		if err != nil {
			return nil, fmt.Errorf("user data, part %d: %w", n, err)
		}
		if mediaType, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type")); mediaType != "text/x-shellscript" {
			continue
		}
		if strings.EqualFold(part.Header.Get("Content-Transfer-Encoding"), "base64") {
			if body, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(body)), "")); err != nil {
				return nil, fmt.Errorf("user data, part %d: %w", n, err)
			}
		}
		scripts = append(scripts, string(body))
	}
}

// callsOf returns the arguments of a script's last call of bootstrap.sh, nil
// where there is none.
func callsOf(script string) (words []string, err error) {
	if !strings.HasPrefix(script, "#!") || !strings.Contains(strings.SplitN(script, "\n", 2)[0], "sh") {
		return nil, nil // another interpreter's
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, err
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 || call.Args[0].Lit() != bootstrapScript {
			return true
		}
		words = []string{}
		for _, arg := range call.Args[1:] {
			word, expandErr := expand.Literal(nil, arg)
			err = errors.Join(err, expandErr)
			words = append(words, word)
		}
		return true
	})
	return words, err
}

// bootstrapConfig reads the arguments of bootstrap.sh. What is no option is a
// positional argument, of which the first names the cluster.
func bootstrapConfig(words []string) (NodeConfig, error) {
	options, positional := map[string]string{}, []string{}
	for i := 0; i < len(words); i++ {
		if !slices.Contains(bootstrapOptions, words[i]) {
			positional = append(positional, words[i])
			continue
		}
		if i+1 == len(words) {
			return NodeConfig{}, fmt.Errorf("bootstrap.sh: %s has no value", words[i])
		}
		options[words[i]] = words[i+1]
		i++
	}
	var c NodeConfig
	if len(positional) > 0 {
		c.Spec.Cluster.Name = positional[0]
	}
	c.Spec.Cluster.APIServerEndpoint = options["--apiserver-endpoint"]
	authority, err := base64.StdEncoding.DecodeString(options["--b64-cluster-ca"])
	if err != nil {
		return NodeConfig{}, fmt.Errorf("bootstrap.sh: --b64-cluster-ca: %w", err)
	}
	c.Spec.Cluster.CertificateAuthority = authority
	if err := ipFamily(options); err != nil {
		return NodeConfig{}, err
	}
	switch disks := options["--local-disks"]; disks {
	case "raid0":
		c.Spec.Instance.LocalStorage.Strategy = "RAID0"
	case "", "mount":
	default:
		return NodeConfig{}, fmt.Errorf("bootstrap.sh: --local-disks %q is neither raid0 nor mount", disks)
	}
	if use, set := options["--use-max-pods"]; set && use != "true" {
		c.Spec.Kubelet.Config = map[string]any{"maxPods": kubeletMaxPods}
	}
	extra := options["--kubelet-extra-args"]
	if strings.ContainsAny(extra, "'\n") { // it stands in single quotes in a unit file
		return NodeConfig{}, fmt.Errorf("bootstrap.sh: --kubelet-extra-args %q ends the line of its unit file", extra)
	}
	c.Spec.Kubelet.Flags = []string{extra}
	return c, nil
}

// ipFamily refuses what bootstrap.sh refuses.
func ipFamily(options map[string]string) error {
	family := strings.ToLower(options["--ip-family"])
	switch {
	case family != "" && family != "ipv4" && family != "ipv6":
		return fmt.Errorf("bootstrap.sh: --ip-family %q is neither ipv4 nor ipv6", family)
	case family == "ipv4" && options["--service-ipv6-cidr"] != "":
		return errors.New("bootstrap.sh: --service-ipv6-cidr and --ip-family ipv4 exclude each other")
	case family == "ipv6" && options["--service-ipv6-cidr"] == "" && options["--dns-cluster-ip"] == "":
		return errors.New("bootstrap.sh: --ip-family ipv6 needs --service-ipv6-cidr or --dns-cluster-ip")
	}
	return nil
}
