package referee

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"sigs.k8s.io/yaml"
)

// ReadUserData parses user data, base64 as EC2 takes it, into its settings: parts of a MIME document, a NodeConfig of nodeadm, the
// settings of Bottlerocket, the parameters of EKS's bootstrap scripts and the kubelet's flags among them.
func ReadUserData(encoded string) Flat {
	text := strings.ReplaceAll(unbase64(encoded), "\r", "")
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return Flat{}
	case strings.HasPrefix(trimmed, "MIME-Version:"), strings.HasPrefix(trimmed, "Content-Type:"):
		return readMIME(trimmed + "\n")
	case strings.HasPrefix(trimmed, "<powershell>"):
		return readScript("-EKSClusterName", "-", trimmed)
	}
	var settings map[string]any
	if err := toml.Unmarshal([]byte(text), &settings); err == nil {
		return flattenAny(settings)
	}
	return Flat{"text": text}
}

// readMIME reads the parts, each named by what it is and its number among its like.
func readMIME(text string) Flat {
	message, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		return Flat{"broken": err.Error()}
	}
	_, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		return Flat{"broken": err.Error()}
	}
	out, seen := Flat{}, map[string]int{}
	reader := multipart.NewReader(message.Body, parameters["boundary"])
	for {
		p, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			out["broken"] = err.Error()
			return out
		}
		body, err := io.ReadAll(p)
		if err != nil {
			out["broken"] = err.Error()
			return out
		}
		kind, content := readPart(p.Header.Get("Content-Type"), string(body))
		seen[kind]++
		for name, value := range content {
			out[fmt.Sprintf("%s %d / %s", kind, seen[kind], name)] = value
		}
	}
}

func readPart(contentType, body string) (kind string, content Flat) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media = contentType
	}
	switch {
	case media == "application/node.eks.aws":
		var config map[string]any
		if err := yaml.Unmarshal([]byte(body), &config); err != nil {
			return "NodeConfig", Flat{"broken": err.Error()}
		}
		return "NodeConfig", flattenAny(config)
	case strings.Contains(body, "/etc/eks/bootstrap.sh"):
		return "bootstrap.sh", readScript("/etc/eks/bootstrap.sh", "--", strings.ReplaceAll(body, "\\\n", " "))
	}
	return media, Flat{"text": strings.TrimSpace(body)}
}

// flattenAny flattens decoded YAML or TOML. Flags and taints are named by what they are.
func flattenAny(value any) Flat {
	out := Flat{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch v := value.(type) {
		case map[string]any:
			if key, isTaint := v["key"].(string); isTaint && v["effect"] != nil {
				path, v = strings.TrimSuffix(path, " / "), map[string]any{"value": v["value"], "effect": v["effect"]}
				out[join(path, key)] = fmt.Sprintf("%v:%v", orEmpty(v["value"]), v["effect"])
				return
			}
			for name, member := range v {
				walk(join(path, name), member)
			}
		case []any:
			for i, item := range v {
				switch text, isText := item.(string); {
				case isText && strings.HasPrefix(text, "--"):
					for name, value := range readFlags(text) {
						out[join(path, name)] = value
					}
				case isText:
					out[join(path, fmt.Sprint(i+1))] = text
				default:
					if m, isMap := item.(map[string]any); isMap && m["key"] != nil {
						walk(path, item)
						continue
					}
					walk(join(path, fmt.Sprint(i+1)), item)
				}
			}
		case nil:
		default:
			out[path] = fmt.Sprint(v)
		}
	}
	walk("", value)
	return out
}

func orEmpty(value any) any {
	if value == nil {
		return ""
	}
	return value
}

var flag = regexp.MustCompile(`--([a-z0-9-]+)(?:=("[^"]*"|\S+))?`)

// readFlags reads the kubelet's flags; lists of pairs become one entry for each.
func readFlags(text string) Flat {
	out := Flat{}
	for _, m := range flag.FindAllStringSubmatch(text, -1) {
		value := strings.Trim(m[2], `"`)
		if !strings.Contains(value, "=") && m[1] != "register-with-taints" {
			out["--"+m[1]] = value
			continue
		}
		for _, pair := range strings.Split(value, ",") {
			key, value, _ := strings.Cut(pair, "=")
			if m[1] == "register-with-taints" && value == "" {
				key, value, _ = strings.Cut(pair, ":")
			}
			out["--"+m[1]+" / "+key] = value
		}
	}
	return out
}

var parameter = regexp.MustCompile(`(?s)(-{1,2}[A-Za-z0-9-]+)\s+('[^']*'|[^\s'-][^\s']*)`)

// readScript reads the call of a bootstrap script: its parameters by name, what stands before it as text, and the kubelet's flags among the
// parameters one by one.
func readScript(mark, dash, text string) Flat {
	lines := strings.Split(text, "\n")
	out := Flat{}
	var before []string
	for _, line := range lines {
		if !strings.Contains(line, mark) {
			before = append(before, line)
			continue
		}
		call := line[strings.Index(line, mark):]
		if dash == "--" { // the cluster's name has no parameter
			words := strings.Fields(call)
			out["cluster"] = strings.Trim(words[1], "'")
		}
		for _, m := range parameter.FindAllStringSubmatch(call, -1) {
			value := strings.Trim(m[2], "'")
			if strings.Contains(strings.ToLower(m[1]), "extra") {
				for name, value := range readFlags(value) {
					out[m[1]+" / "+name] = value
				}
				continue
			}
			out[m[1]] = value
		}
	}
	out["around"] = strings.Join(before, "\n")
	return out
}
