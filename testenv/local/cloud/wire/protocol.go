package wire

import (
	"encoding/xml"
	"net/http"
	"strings"
)

// Protocol is one of the ways AWS services are spoken to.
type Protocol int

// The protocols of the services modeled in testenv/local/cloud.
const (
	ProtocolJSON     Protocol = iota // AWS JSON 1.0 and 1.1
	ProtocolQuery                    // STS, IAM
	ProtocolEC2                      // the EC2 dialect of Query
	ProtocolRESTJSON                 // EKS
	ProtocolRESTXML                  // S3
	ProtocolCBOR                     // CloudWatch
)

// ProtocolOf returns the protocol a request to service is written in. service
// is the name in the credential scope, e.g. "sqs"; where it is unknown ("")
// the shape of the request decides.
func ProtocolOf(service string, r *http.Request) Protocol {
	switch {
	case service == "s3":
		return ProtocolRESTXML
	case service == "ec2":
		return ProtocolEC2
	case service == "eks":
		return ProtocolRESTJSON
	case service == "monitoring":
		return ProtocolCBOR
	case r.Header.Get("X-Amz-Target") != "":
		return ProtocolJSON
	case service == "sts" || service == "iam" || isForm(r) || r.URL.Query().Has("Action"):
		return ProtocolQuery
	case service == "":
		return ProtocolRESTXML
	}
	return ProtocolRESTJSON
}

func isForm(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
}

// WriteError writes err in the envelope of protocol. Handlers of this package
// write their own errors; this is for whoever refuses a request before one of
// them sees it.
func WriteError(w http.ResponseWriter, r *http.Request, protocol Protocol, err error) {
	switch protocol {
	case ProtocolJSON:
		version := "1.0"
		if strings.HasSuffix(r.Header.Get("Content-Type"), "-1.1") {
			version = "1.1"
		}
		target := r.Header.Get("X-Amz-Target")
		JSON{Version: version, CRC32: strings.HasPrefix(target, "DynamoDB_")}.writeError(w, r, err)
	case ProtocolCBOR:
		WriteCBORError(w, err)
	case ProtocolQuery:
		Query{}.writeError(w, r, err)
	case ProtocolEC2:
		Query{EC2: true}.writeError(w, r, err)
	case ProtocolRESTJSON:
		WriteRESTJSONError(w, r, err)
	default:
		WriteRESTXMLError(w, r, err)
	}
}

// WriteRESTXML writes a REST XML (S3) result: v as an element called name in
// the namespace of S3.
func WriteRESTXML(w http.ResponseWriter, r *http.Request, status int, name string, v any) {
	doc, err := marshalXML(xml.StartElement{
		Name: xml.Name{Local: name},
		Attr: []xml.Attr{{Name: xml.Name{Local: "xmlns"}, Value: "http://s3.amazonaws.com/doc/2006-03-01/"}},
	}, v)
	if err != nil {
		WriteRESTXMLError(w, r, err)
		return
	}
	writeRESTXML(w, r, status, doc)
}

type restError struct {
	Code      string
	Message   string
	Resource  string
	RequestID string `xml:"RequestId"`
	HostID    string `xml:"HostId"`
}

// WriteRESTXMLError writes a REST XML (S3) error. A response to HEAD, and one
// with status 304, has no body: the client reads the status alone.
func WriteRESTXMLError(w http.ResponseWriter, r *http.Request, err error) {
	e := AsError(err)
	setHeaders(w, e)
	if r.Method == http.MethodHead || e.HTTPStatus() == http.StatusNotModified {
		writeRESTXML(w, r, e.HTTPStatus(), nil)
		return
	}
	id := RequestID(r.Context())
	doc, err := marshalXML(xml.StartElement{Name: xml.Name{Local: "Error"}},
		restError{Code: e.Code, Message: e.Message, Resource: r.URL.Path, RequestID: id, HostID: id})
	if err != nil {
		http.Error(w, "marshal error", http.StatusInternalServerError)
		return
	}
	writeRESTXML(w, r, e.HTTPStatus(), doc)
}

func writeRESTXML(w http.ResponseWriter, r *http.Request, status int, doc []byte) {
	id := RequestID(r.Context())
	w.Header().Set("x-amz-request-id", id)
	w.Header().Set("x-amz-id-2", id)
	if doc != nil {
		w.Header().Set("Content-Type", "application/xml")
	}
	w.WriteHeader(status)
	if doc != nil {
		w.Write([]byte(xml.Header))
		w.Write(doc)
	}
}
