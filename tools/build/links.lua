-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
--
-- For pandoc: links of a page as they are right in the documentation (tools/build/html). The variable `page` is the path
-- of the page in the source. Pages lead to pages, headers to their descriptions, the manual to the manual; other files
-- of the source are beside the documentation.

local page = PANDOC_WRITER_OPTIONS.variables.page
page = type(page) == "string" and page or pandoc.utils.stringify(page)

-- The path in the source that a link of this page leads to.
local function resolve(target)
  local parts = {}
  for part in (page:gsub("[^/]*$", "") .. target):gmatch("[^/]+") do
    if part == ".." then
      table.remove(parts)
    elseif part ~= "." then
      table.insert(parts, part)
    end
  end
  return table.concat(parts, "/")
end

local function translate(target)
  if target:match("^%a+:") or target:match("^#") then
    return target
  end
  local path, anchor = target:match("^([^#]*)(.*)$")
  path = resolve(path)
  local up = page:gsub("[^/]", ""):gsub("/", "../")
  if path:match("%.md$") then
    return up .. path:gsub("%.md$", ".html") .. anchor
  end
  local header = path:match("^include/.*%.h$") and path:match("[^/]*$")
  if header then -- as doxygen names its files
    return up .. "api/" .. header:gsub("_", "__"):gsub("%.", "_8") .. ".html"
  end
  if path:match("^include/?[^.]*$") then
    return up .. "api/files.html"
  end
  if path == "doc/tenon.1" then
    return up .. path .. ".html" .. anchor
  end
  return up .. "../" .. path .. anchor
end

function Link(link)
  link.target = translate(link.target)
  return link
end

function Image(image)
  image.src = translate(image.src)
  return image
end
