//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// planted marks what a service sends about people: it is a part of every identifier and name, of unknown members and
// their names, of class names, bodies of errors, cursors and headers. Dates of birth are the 19 July of a year before
// plantedYear.
const (
	planted     = "zquxplanted"
	plantedDay  = "-07-19"
	plantedYear = "2023"
)

// plantedIDs are the members that identify students, educators and records about them; plantedNames their names.
var (
	plantedIDs   = regexp.MustCompile(`^(student|educator|testResult|studentSchoolAssociation|educatorSchoolAssociation)Bid$|^(s|stateS|districtS)tudentId$`)
	plantedNames = regexp.MustCompile(`^(first|middle|last)Name$`)
)

// plant returns a service that plants in the answers of another one, and takes what it has planted out of requests.
func plant(service http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		clean := r.Clone(r.Context())
		clean.URL.Path = strings.ReplaceAll(r.URL.Path, planted, "")
		clean.URL.RawPath = strings.ReplaceAll(r.URL.RawPath, planted, "")
		clean.URL.RawQuery = strings.ReplaceAll(r.URL.RawQuery, planted, "")
		held := &heldAnswer{ResponseWriter: w, status: http.StatusOK}
		service.ServeHTTP(held, clean)
		if held.hijacked {
			return
		}
		body, header := held.body.Bytes(), w.Header()
		var value any
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		switch {
		case strings.HasPrefix(clean.URL.Path, "/sim/auth/"):
		case held.status >= http.StatusMultipleChoices:
			header.Set("Content-Type", "application/json")
			body = []byte(`{"fault":{"faultstring":"student ` + planted + ` not found","detail":{"errorcode":"` + planted + `"}},"message":"` + planted + `"}`)
			header.Set("Content-Length", strconv.Itoa(len(body)))
		case decoder.Decode(&value) == nil && header.Get("Content-Length") == strconv.Itoa(len(body)):
			body, _ = json.Marshal(plantAnswer(value))
			header.Set("Content-Length", strconv.Itoa(len(body)))
		}
		for _, name := range []string{"X-Student", "Set-Cookie", "ETag", "Location", "Link", "Warning", "Content-Location"} {
			header.Set(name, "https://host/students/"+planted+"?born=2012"+plantedDay)
		}
		w.WriteHeader(held.status)
		_, _ = w.Write(body)
	})
}

// heldAnswer holds an answer back until it is complete.
type heldAnswer struct {
	http.ResponseWriter
	status   int
	body     bytes.Buffer
	hijacked bool
}

func (h *heldAnswer) WriteHeader(status int)         { h.status = status }
func (h *heldAnswer) Write(data []byte) (int, error) { return h.body.Write(data) }
func (h *heldAnswer) Unwrap() http.ResponseWriter    { h.hijacked = true; return h.ResponseWriter }
func (h *heldAnswer) Flush()                         {}

// plantAnswer plants in the outermost value of a body: a list, a record, or an object around one of these.
func plantAnswer(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return plantValue("", value)
	}
	pages, paged := object["pagination"].(map[string]any)
	if !paged && len(object) > 1 {
		return plantValue("", value)
	}
	for name, inner := range object {
		if name != "pagination" {
			object[name] = plantValue(name, inner)
		}
	}
	object[planted] = nil // any other value might be the list
	if paged {
		if next, _ := pages["nextPage"].(string); next != "" {
			pages["nextPage"] = planted + next
		}
		pages["student"], pages[planted] = planted, planted
	}
	return object
}

// plantValue plants in the value of a member.
func plantValue(name string, value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = plantValue(name, v[i])
		}
	case map[string]any:
		for inner := range v {
			v[inner] = plantValue(inner, v[inner])
		}
		plantRecord(v)
	case string:
		switch {
		case plantedIDs.MatchString(name), plantedNames.MatchString(name), name == "className", name == "educators", name == "students":
			return planted + v
		case name == "dateOfBirth":
			return v[:4] + plantedDay
		}
	}
	return value
}

// plantRecord adds members, and replaces some whose type a text does not fit.
func plantRecord(record map[string]any) {
	hash := fnv.New32a()
	text, _ := json.Marshal(record)
	_, _ = hash.Write(text)
	n := hash.Sum32()
	record["guardian"] = map[string]any{"name": planted, "born": "1980" + plantedDay, planted: []any{planted}}
	record[planted] = planted
	record[planted+strconv.Itoa(int(n%50))] = 1
	record["id "+planted+strconv.Itoa(int(n))] = 1
	for i, name := range []string{"rit", "beginDate", "gender", "itemsShown", "middleName", "educatorBid", "dateOfBirth"} {
		if _, ok := record[name]; ok && n%uint32(7+i) == 0 {
			record[name] = map[string]any{planted: planted}
			if i == 0 || i == 1 {
				record[name] = planted
			}
		}
	}
}
