package userdata

import (
	"bytes"
	"encoding/json"
	"flag"
	"mime"
	"mime/multipart"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"io"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func input(edit func(*Input)) Input {
	in := Input{
		Class:   model.Class{Name: "default", Family: "AL2023"},
		Cluster: "web", Endpoint: "https://web.example", CA: []byte("-----BEGIN CERTIFICATE-----\n"), ServiceCIDR: "10.96.0.0/12", ClusterDNS: "10.96.0.10",
		Labels:  map[string]string{"team": "a", model.LabelNodePool: "default", "kubernetes.io/arch": "amd64", "node-restriction.kubernetes.io/x": "y"},
		Taints:  []model.Taint{{Key: "dedicated", Value: "gpu", Effect: model.NoSchedule}, {Key: model.TaintUnregistered, Effect: model.NoExecute}},
		MaxPods: 58,
	}
	if edit != nil {
		edit(&in)
	}
	return in
}

// read parses a rendered document with the standard library's MIME reader, as a machine would.
func read(t *testing.T, text []byte) (types, bodies []string) {
	t.Helper()
	message, err := mail.ReadMessage(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("not a MIME document: %v\n%s", err, text)
	}
	_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	reader := multipart.NewReader(message.Body, params["boundary"])
	for {
		p, err := reader.NextRawPart()
		if err == io.EOF {
			return types, bodies
		}
		if err != nil {
			t.Fatalf("part %d: %v", len(types), err)
		}
		body, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		types, bodies = append(types, p.Header.Get("Content-Type")), append(bodies, string(body))
	}
}

func TestRenderGolden(t *testing.T) {
	cases := map[string]func(*Input){
		"plain":      nil,
		"shell":      func(in *Input) { in.Class.UserData = "#!/bin/bash\necho hello\n" },
		"nodeconfig": func(in *Input) { in.Class.UserData = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}\n" },
		"mime": func(in *Input) {
			in.Class.UserData = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: text/x-shellscript\n\necho hi\n--//--\n"
		},
		"kubelet": func(in *Input) { in.Class.Kubelet.JSON = `{"maxPods":9,"systemReserved":{"cpu":"100m"}}` },
	}
	for name, edit := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Render(input(edit))
			if err != nil {
				t.Fatal(err)
			}
			types, _ := read(t, got)
			if last := types[len(types)-1]; last != nodeConfigType {
				t.Errorf("UD-01: the last part is %q, and only the last one wins", last)
			}
			path := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestRenderKeepsHostileTextInItsPart(t *testing.T) {
	clean, err := Render(input(nil))
	if err != nil {
		t.Fatal(err)
	}
	_, params, _ := mime.ParseMediaType(strings.SplitN(strings.SplitN(string(clean), "Content-Type: ", 2)[1], "\n", 2)[0])
	hostile := "#!/bin/bash\n--" + params["boundary"] + "\nContent-Type: application/node.eks.aws\n\n{\"spec\":{}}\n--" + params["boundary"] + "--\n"
	in := input(func(in *Input) { in.Class.UserData = hostile })
	got, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	types, bodies := read(t, got)
	if len(types) != 2 || strings.TrimSpace(bodies[0]) != strings.TrimSpace(hostile) {
		t.Fatalf("the user's text became %d parts: %q", len(types), types)
	}
}

func TestRenderUnregisteredTaintExactlyOnceAndServerLabelsLeftOut(t *testing.T) {
	got, err := Render(input(nil))
	if err != nil {
		t.Fatal(err)
	}
	_, bodies := read(t, got)
	var config nodeConfig
	if err := json.Unmarshal([]byte(bodies[len(bodies)-1]), &config); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(bodies[0], model.TaintUnregistered+`"`); n != 1 {
		t.Errorf("UD-08: the unregistered taint appears %d times", n)
	}
	flag := config.Spec.Kubelet.Flags[0]
	if strings.Contains(flag, "kubernetes.io/arch") || strings.Contains(flag, "node-restriction") {
		t.Errorf("UD-08: labels a kubelet may not set in %s", flag)
	}
	if want := "--node-labels=karpenter.sh/do-not-sync-taints=true,karpenter.sh/nodepool=default,team=a"; flag != want {
		t.Errorf("got %s, want %s", flag, want)
	}
}

func TestRenderRefuses(t *testing.T) {
	cases := map[string]struct {
		edit func(*Input)
		says string
	}{
		"service CIDR unknown (UD-02)": {func(in *Input) { in.ServiceCIDR = "" }, "service CIDR"},
		"too large (UD-11)":            {func(in *Input) { in.Class.UserData = "#!/bin/sh\n" + strings.Repeat("x", MaxBytes) }, "spec.userData"},
		"another family":               {func(in *Input) { in.Class.Family = "Bottlerocket" }, "spec.amiFamily"},
		"broken MIME":                  {func(in *Input) { in.Class.UserData = "Content-Type: multipart/mixed; boundary=\"b\"\n\n--b\nno end" }, "spec.userData"},
		"kubelet is a list":            {func(in *Input) { in.Class.Kubelet.JSON = "[]" }, "spec.kubelet"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Render(input(c.edit))
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want Invalid naming %s", err, c.says)
			}
		})
	}
}

func TestRenderCustomIsVerbatim(t *testing.T) {
	in := input(func(in *Input) { in.Class.Family, in.Class.UserData = "Custom", "\x00any bytes\r\n" })
	got, err := Render(in)
	if err != nil || string(got) != in.Class.UserData {
		t.Errorf("UD-06: got %q, %v", got, err)
	}
}

func FuzzRender(f *testing.F) {
	f.Add("#!/bin/sh\n")
	f.Add("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nx\n--b--")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Render(input(func(in *Input) { in.Class.UserData = text }))
		if err != nil {
			return
		}
		types, _ := read(t, got)
		if len(types) == 0 || types[len(types)-1] != nodeConfigType {
			t.Fatalf("our part is not the last of %q", types)
		}
	})
}
