package userdata

import (
	"encoding/base64"
	"regexp"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
)

// blockTag begins or ends a part of what EC2's launch agent takes apart. Source: EC2 user guide for Windows, "Run
// commands when you launch an EC2 instance with user data input".
var blockTag = regexp.MustCompile(`(?i)</?\s*(powershell|script)\s*>`)

// renderWindows returns one PowerShell block: the user's text, then the call of the image's bootstrap script. Source of
// its parameters: EKS user guide, "Bootstrap script configuration parameters" of Windows images.
func renderWindows(in Input) ([]byte, error) {
	if err := in.needed(false); err != nil {
		return nil, err
	}
	if in.ipv6() {
		return nil, fault.New(fault.Invalid, "UnsupportedFamily",
			"spec.amiFamily %s of EC2NodeClass %s: Windows nodes cannot join a cluster with IPv6 services; use a Linux family", in.Class.Family, in.Class.Name)
	}
	if err := checkPowerShell(in); err != nil {
		return nil, err
	}
	call, err := windowsCall(in)
	if err != nil {
		return nil, err
	}
	custom := in.Class.UserData
	if custom != "" && !strings.HasSuffix(custom, "\n") {
		custom += "\n"
	}
	return []byte("<powershell>\n" + custom + call + "\n</powershell>\n"), nil
}

// checkPowerShell refuses user text that would end the block, and text that leaves a quotation or comment open, which
// would swallow the call that makes the instance join.
func checkPowerShell(in Input) error {
	text := in.Class.UserData
	if tag := blockTag.FindString(text); tag != "" {
		return fault.New(fault.Invalid, "InvalidUserData",
			"spec.userData of EC2NodeClass %s holds %s, and one block is made of it and of the call that joins the cluster; leave the tag out", in.Class.Name, tag)
	}
	if strings.ContainsRune(text, 0) {
		return fault.New(fault.Invalid, "InvalidUserData", "spec.userData of EC2NodeClass %s holds a zero byte, at which PowerShell stops reading; remove it", in.Class.Name)
	}
	if what := leftOpen(text); what != "" {
		return fault.New(fault.Invalid, "InvalidUserData",
			"spec.userData of EC2NodeClass %s leaves %s open, which would swallow the call that joins the cluster; close it", in.Class.Name, what)
	}
	return nil
}

func windowsCall(in Input) (string, error) {
	k, err := readKubelet(in)
	if err != nil {
		return "", err
	}
	extra, err := k.flags(in)
	if err != nil {
		return "", err
	}
	words := []string{`& "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"`}
	for _, p := range []struct{ name, value string }{
		{"-EKSClusterName", in.Cluster},
		{"-APIServerEndpoint", in.Endpoint},
		{"-Base64ClusterCA", base64.StdEncoding.EncodeToString(in.CA)},
		{"-DNSClusterIP", k.dns()},
	} {
		if p.value == "" {
			continue
		}
		if err := in.checkPlain("parameter "+p.name+" of Start-EKSBootstrap.ps1,", p.value); err != nil {
			return "", err
		}
		words = append(words, p.name, "'"+p.value+"'")
	}
	return strings.Join(append(words, "-KubeletExtraArgs", "'"+extra+"'"), " "), nil
}
