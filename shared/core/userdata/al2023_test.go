package userdata

import (
	"mime"
	"strings"
	"testing"
)

// UD-01: our NodeConfig is the last part, whatever the user gives, because only the last one wins; and the user's own
// parts come in their order.
func TestUD01OwnNodeConfigIsLast(t *testing.T) {
	cases := map[string]struct {
		text  string
		types []string
	}{
		"nothing":      {"", nil},
		"white space":  {" \n\t", nil},
		"shell":        {"#!/bin/bash\necho hello: world\n", []string{"text/x-shellscript"}},
		"bare command": {"export A=\"x: y\"\n", []string{"text/x-shellscript"}},
		"YAML":         {"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster: {name: other}\n", []string{nodeConfigType}},
		"YAML, marked": {"---\n# ours\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n", []string{nodeConfigType}},
		"JSON":         {`{"apiVersion":"node.eks.aws/v1alpha1","kind":"NodeConfig"}`, []string{nodeConfigType}},
		"cloud-config": {"#cloud-config\nruncmd: [ls]\n", []string{"text/cloud-config"}},
		"MIME": {"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"//\"\r\n\r\n--//\r\nContent-Type: text/x-shellscript\r\n\r\necho\r\n--//\r\nContent-Type: application/node.eks.aws\r\n\r\n" +
			"apiVersion: node.eks.aws/v1alpha1\r\nkind: NodeConfig\r\n--//\r\nContent-Type: text/cloud-boothook\r\n\r\nx\r\n--//--\r\n", []string{"text/x-shellscript", nodeConfigType, "text/cloud-boothook"}},
		"MIME of one part": {"Content-Type: text/x-shellscript\nMIME-Version: 1.0\n\n#!/bin/sh\n", []string{"text/x-shellscript"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := read(t, "AL2023", render(t, input(func(in *Input) { in.Class.UserData = c.text })))
			var types []string
			for _, text := range d.types {
				kind, _, err := mime.ParseMediaType(text)
				if err != nil {
					t.Fatal(err)
				}
				types = append(types, kind)
			}
			if want := append(c.types, nodeConfigType); strings.Join(types, " ") != strings.Join(want, " ") {
				t.Errorf("got %q, want %q", types, want)
			}
			if d.cluster != "web" {
				t.Errorf("the last NodeConfig is for %q", d.cluster)
			}
			for _, body := range d.bodies {
				if strings.Contains(body, "\r") {
					t.Errorf("carriage returns in %q", body)
				}
			}
		})
	}
}

// UD-02: without the service CIDR nodeadm refuses to start, so that nothing is launched.
func TestUD02NoNodeWithoutServiceCIDR(t *testing.T) {
	_, err := Render(input(func(in *Input) { in.ServiceCIDR = "" }))
	if err == nil || !strings.Contains(err.Error(), "service CIDR") || !strings.Contains(err.Error(), "attach the cluster") {
		t.Errorf("got %v", err)
	}
	if d := read(t, "AL2023", render(t, input(nil))); !strings.Contains(d.bodies[0], `"cidr": "10.96.0.0/12"`) {
		t.Errorf("no CIDR in %s", d.bodies[0])
	}
}

// A part's encoding and file name are cloud-init's to know: without them it would run the encoded text.
func TestHeadersOfTheUsersPartsAreKept(t *testing.T) {
	text := render(t, input(func(in *Input) {
		in.Class.UserData = "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\nContent-Disposition: attachment;\n filename=\"a.sh\"\n\nZWNobyBoaQo=\n--b--\n"
	}))
	for _, line := range []string{"Content-Transfer-Encoding: base64\n", "Content-Disposition: attachment; filename=\"a.sh\"\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("%q is not in\n%s", line, text)
		}
	}
}

func TestHostileTextStaysInItsPart(t *testing.T) {
	clean := render(t, input(nil))
	boundary := clean[strings.Index(clean, "joiner-"):][:len("joiner-")+24]
	hostile := "#!/bin/bash\n--" + boundary + "\nContent-Type: application/node.eks.aws\n\n{\"spec\":{}}\n--" + boundary + "--\n"
	d := read(t, "AL2023", render(t, input(func(in *Input) { in.Class.UserData = hostile })))
	if len(d.types) != 2 || strings.TrimSpace(d.bodies[0]) != strings.TrimSpace(hostile) {
		t.Fatalf("the user's text became %d parts: %q", len(d.types), d.types)
	}
}

// The class's kubelet map reaches the node whole, with the numbers as they were written.
func TestKubeletFieldsOfAL2023ArePassedOn(t *testing.T) {
	d := read(t, "AL2023", render(t, input(func(in *Input) {
		in.Class.Kubelet.JSON = `{"clusterDNS":["1.1.1.1","2.2.2.2"],"registryPullQPS":12345678901234567,"shutdownGracePeriod":"30s","registerWithTaints":[{"key":"theirs","effect":"NoExecute"}]}`
	})))
	body := d.bodies[0]
	for _, part := range []string{"12345678901234567", `"shutdownGracePeriod": "30s"`, `"2.2.2.2"`} {
		if !strings.Contains(body, part) {
			t.Errorf("%s is not in %s", part, body)
		}
	}
	if strings.Contains(body, "theirs") {
		t.Errorf("taints nobody planned with in %s", body)
	}
}

func seedMIME(f *testing.F) {
	f.Add("#!/bin/sh\n")
	f.Add("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nx\n--b--")
	f.Add("Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: multipart/mixed; boundary=c\nX-A: b\n c\n\n--c\n\nx\n--c--\n--b--")
	f.Add("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {flags: ['--node-labels=a=b']}}\n")
	f.Add("Content-Type: text/x-shellscript; a=\"\\\"\"\n\n--joiner-8a2f0fa38d96ed5cc35f7f45\n")
}

func FuzzAL2023(f *testing.F) {
	seedMIME(f)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Render(input(func(in *Input) { in.Class.UserData = text }))
		if err != nil {
			return
		}
		d := read(t, "AL2023", string(got))
		if d.cluster != "web" || d.maxPods != "58" || len(d.taints) != 2 || d.types[len(d.types)-1] != nodeConfigType {
			t.Fatalf("the machine is told %+v", d)
		}
		parts, err := customParts(input(func(in *Input) { in.Class.UserData = text }).Class)
		if err != nil || len(parts) != len(d.types)-1 {
			t.Fatalf("%d parts became %d (%v)", len(parts), len(d.types)-1, err)
		}
		for i, p := range parts {
			if strings.TrimRight(p.body, "\n") != strings.TrimRight(d.bodies[i], "\n") {
				t.Fatalf("part %d was %q and is %q", i, p.body, d.bodies[i])
			}
		}
	})
}
